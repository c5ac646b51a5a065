import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { builtInEntities } from '../built-in.ts'
import { separators } from '../shapes.ts'
import type { Entities, Entity, Field, Listing, Page, ReadRule } from '../storage.ts'
import { compilePage, compileTotal } from './compile.ts'
import { type Database, openDatabase } from './open.ts'
import { OrderMemory } from './order-memory.ts'
import type { ReadTurn } from './read-turn.ts'
import type { ReaderHandlers } from './reader.ts'
import { recordsBetween, recordsNumbered, writeRecordFile } from './record-file.ts'
import type { SqliteOptions, Write } from './sqlite.ts'
import { startThread, type Thread } from './thread.ts'

/** A piece of a listing holds at most this many records, */
const pieceRecords = 1_024
/** and at most this many bytes, or one record that is larger. */
const pieceBytes = 512 * 1024
/** A short page is read from memory that the operating system shares and takes back; at most this much of a file. */
const mappedBytes = 256 * 1024 * 1024
/** A version that is no longer the entity's stays this long for those who have just looked it up, in ms. */
const graceForReaders = 60_000
/** A file that nobody has written to for this long, in ms, was left by a process that died. */
const abandonedAfter = 3_600_000

type Records = Entity & { source: { kind: 'records' } }

interface Parts extends SqliteOptions {
  readonly db: Database
  readonly turn: ReadTurn
  readonly file: string
  readonly write: Write
}

export function sqliteEntities({
  db,
  turn,
  file,
  write,
  dataFolder,
  orderMemory,
}: Parts): Entities & { close(): Promise<void> } {
  const folder = join(dataFolder, 'entities')
  const fileOf = (version: string) => join(folder, `${version}.db`)
  const readers = readerPool()
  const orders = new OrderMemory(orderMemory)
  const changes = db.prepare('SELECT entities FROM state')
  let seen = -1
  let seenInTurn = -1
  let entities: ReadonlyMap<string, Entity> = new Map()
  /** Files of current versions that this thread reads from. */
  const open = new Map<string, Database>()

  function all(): ReadonlyMap<string, Entity> {
    const current = turn.enter()
    if (current === seenInTurn) return entities
    seenInTurn = current
    const now = (changes.get() as unknown as [number])[0]
    if (now !== seen) {
      entities = new Map([...builtInEntities, ...importedEntities(db)].map(entity => [entity.name, entity]))
      seen = now
      const inUse = new Set(
        [...entities.values()].map(({ source }) => (source.kind === 'records' ? source.version : '')),
      )
      for (const [version, opened] of open)
        if (!inUse.has(version)) {
          open.delete(version)
          opened.close()
        }
      orders.keepOnly(inUse)
    }
    return entities
  }

  function opened(version: string): Database {
    const known = open.get(version)
    if (known) return known
    const database = openDatabase(fileOf(version), { mode: 'immutable', map: mappedBytes })
    open.set(version, database)
    return database
  }

  /** The numbers of all records in this order; undefined: the order of the key. */
  function order(entity: Records, page: Page): Uint32Array | undefined | Promise<Uint32Array> {
    const keyAt = page.order.findIndex(one => one.field === entity.key)
    // The key leaves no ties: what comes behind it decides nothing.
    const fields = (keyAt < 0 ? page.order : page.order.slice(0, keyAt + 1)).map(
      one => [entity.fields.findIndex(field => field.name === one.field), one.descending] as const,
    )
    if (fields.length === 0 || (keyAt === 0 && fields[0]?.[1] === false)) return undefined
    const { version, count } = entity.source
    return orders.get(version, fields.join(), count, () =>
      readers.leastBusy().call('sort', fileOf(version), count, fields),
    )
  }

  async function listRecords(entity: Records, page: Page, shape: keyof typeof separators): Promise<Listing> {
    const { version, count, largest } = entity.source
    const from = Math.min(page.offset, count)
    const before = page.limit === null ? count : Math.min(from + page.limit, count)
    // Nothing to read: not worth an order.
    if (from === before) return { total: count, body: new Uint8Array() }
    const sorted = order(entity, page)
    const numbers = sorted instanceof Promise ? await sorted : sorted
    const step = Math.max(1, Math.min(pieceRecords, Math.floor(pieceBytes / Math.max(largest, 1))))

    // A short page is read here and now; what is longer, or needs work on each record, elsewhere.
    if (before - from <= Math.min(step, 100) && shape !== 'csv') {
      const database = opened(version)
      const body = numbers
        ? recordsNumbered(database, numbers.subarray(from, before), separators[shape])
        : recordsBetween(database, from, before, separators[shape])
      return { total: count, body }
    }
    const reader = readers.leastBusy()
    const path = fileOf(version)
    await reader.call('hold', path)
    const piece = (at: number) => {
      const end = Math.min(at + step, before)
      return reader.call('records', path, numbers ? numbers.slice(at, end) : [at, end], shape, entity.fields)
    }
    async function* pieces() {
      try {
        let ahead = piece(from)
        for (let at = from; at < before; at += step) {
          const now = await ahead
          // The next piece is read while the client takes this one; never more than that.
          if (at + step < before) {
            ahead = piece(at + step)
            ahead.catch(() => {})
          }
          yield now
        }
      } finally {
        await reader.call('release', path)
      }
    }
    return { total: count, body: pieces() }
  }

  async function listTable(
    entity: Entity,
    table: string,
    page: Page,
    shape: keyof typeof separators,
  ): Promise<Listing> {
    const reader = readers.leastBusy()
    const counted = page.total || page.limit !== null ? compileTotal(table) : null
    const { cursor, total } = await reader.call(
      'open',
      file,
      compilePage(entity, table, page),
      counted,
      shape,
      entity.fields,
    )
    async function* pieces() {
      try {
        for (;;) {
          const piece = await reader.call('next', cursor)
          if (piece === null) return
          yield piece
        }
      } finally {
        await reader.call('close', cursor)
      }
    }
    return { total: total ?? undefined, body: pieces() }
  }

  /** Removes files that nothing refers to. */
  async function sweep(): Promise<void> {
    const retired = db.all<{ version: string; at: number }>('SELECT version, at FROM retired')
    const old = retired.filter(({ at }) => Date.now() - at > graceForReaders).map(({ version }) => version)
    for (const version of old) rmSync(fileOf(version), { force: true })
    if (old.length > 0) await write('forgetRetired', old)
    const known = new Set(
      [...retired.map(({ version }) => version), ...versionsInUse(db)].map(version => `${version}.db`),
    )
    for (const name of readdirSync(folder)) {
      const modified = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
      if (!known.has(name) && Date.now() - modified > abandonedAfter)
        rmSync(join(folder, name), { force: true })
    }
  }
  const sweeping = setInterval(() => void sweep().catch(() => {}), graceForReaders)
  sweeping.unref()

  return {
    all,
    list: (entity, page, shape) =>
      entity.source.kind === 'table'
        ? listTable(entity, entity.source.table, page, shape)
        : listRecords(entity as Records, page, shape),
    publish: async (entity, records, event) => {
      const version = `${entity.name}.${randomBytes(8).toString('hex')}`
      const written = writeRecordFile(fileOf(version), entity, records)
      const { ranks: _, ...definition } = entity
      await write('pointEntity', { ...definition, version, ...written }, event)
      await sweep()
    },
    drop: async (name, event) => {
      const dropped = await write('dropEntity', name, event)
      await sweep()
      return dropped
    },
    scratchFolder: folder,
    close: async () => {
      clearInterval(sweeping)
      await readers.close()
      for (const database of open.values()) database.close()
    },
  }
}

function* importedEntities(db: Database): Generator<Entity> {
  type EntityRow = {
    name: string
    key: string
    read: ReadRule
    fields: string
    version: string
    count: number
    largest: number
  }
  for (const row of db.all<EntityRow>('SELECT name, key, read, fields, version, count, largest FROM entity'))
    yield {
      name: row.name,
      key: row.key,
      read: row.read,
      fields: JSON.parse(row.fields) as Field[],
      source: { kind: 'records', version: row.version, count: row.count, largest: row.largest },
    }
}

const versionsInUse = (db: Database) =>
  db.all<{ version: string }>('SELECT version FROM entity').map(({ version }) => version)

/** Two reader threads, started when the first (or a second) is needed. */
function readerPool() {
  const threads: Thread<ReaderHandlers>[] = []
  const start = () => {
    const thread = startThread<ReaderHandlers>('reader', null)
    threads.push(thread)
    return thread
  }
  return {
    leastBusy: () => {
      const [first, second] = threads
      if (!first) return start()
      if (first.busy === 0) return first
      if (!second) return start()
      return second.busy < first.busy ? second : first
    },
    close: () => Promise.all(threads.map(thread => thread.close())),
  }
}
