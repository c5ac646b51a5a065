import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtInEntities } from '../../model/built-in-entities.ts'
import { createRecords, type RecordEntity, type RecordSource } from '../shared/record-listings.ts'
import { seenThrough } from '../shared/row-visibility.ts'
import {
  type Entities,
  type Entity,
  ExposeError,
  type ExposeRequest,
  type Source,
  StoreUnavailable,
} from '../storage.ts'
import { noteEvent } from './account-changes.ts'
import type { PostgresAudiences } from './audiences.ts'
import { quoteName, type RowsFound, type TableShape } from './compile.ts'
import type { Connection, Pool, Queries } from './driver.ts'
import { letReaderRead, tableExists } from './expose.ts'
import { recordTable, writeVersion } from './record-versions.ts'
import type { Look } from './session-lookup.ts'
import type { ListTable } from './table-listings.ts'

/** A version that is no longer the entity's stays this long for those who have just looked it up, in seconds. */
const graceForReaders = 60
/** How often what is no longer needed is removed, in ms; and versions that are still being read are marked as such. */
const sweepEvery = 20_000

interface Parts {
  readonly pool: Pool
  readonly look: Look
  readonly audiences: PostgresAudiences
  readonly records: RecordSource & { readonly held: ReadonlyMap<string, number> }
  readonly tables: ListTable
  readonly cacheSize: number
  /** Without time limits, for work that takes as long as it takes. */
  readonly connect: () => Promise<Connection>
  /** What the catalogue says of a table. */
  readonly describe: (request: ExposeRequest) => Promise<Entity>
}

export interface PostgresEntities extends Entities {
  /** Reads the list anew if this isn't the state that it was read at. */
  follow(state: number, db: Queries): Promise<void> | undefined
  close(): void
}

/** The list of entities, and the tables of those that were imported: one for each version, never changed. */
export function postgresEntities(parts: Parts): PostgresEntities {
  const { pool, look, audiences, tables, connect } = parts
  const records = createRecords(parts.records, parts.cacheSize)
  let entities: ReadonlyMap<string, Entity> = new Map()
  let seen = -1
  let scratch: string | undefined

  async function read(state: number, db: Queries): Promise<void> {
    const added = await db.rows<EntityRow>('SELECT name, definition FROM carrel.entity ORDER BY name')
    entities = new Map([...builtInEntities, ...added.map(toEntity)].map(entity => [entity.name, entity]))
    records.keepOnly(
      new Set(
        [...entities.values()].flatMap(({ source }) => (source.kind === 'records' ? source.version : [])),
      ),
    )
    seen = state
  }

  /** Removes versions that nobody reads any more. */
  async function sweep(): Promise<void> {
    const reading = [...parts.records.held.keys()]
    if (reading.length > 0)
      await pool.run('UPDATE carrel.retired SET at = now() WHERE version = ANY($1)', reading)
    const old = await pool.rows<{ version: string }>(
      "SELECT version FROM carrel.retired WHERE at < now() - $1 * interval '1 second'",
      graceForReaders,
    )
    for (const { version } of old)
      await pool.transaction(async db => {
        // Of several nodes, the one that deletes the row does the rest.
        const sql = "DELETE FROM carrel.retired WHERE version = $1 AND at < now() - $2 * interval '1 second'"
        if ((await db.run(sql, version, graceForReaders)) === 0) return
        await db.run('DELETE FROM carrel.rank WHERE version = $1', version)
        await db.exec(`DROP TABLE IF EXISTS ${recordTable(version)}`)
      })
  }
  // What can't be removed now is tried again later.
  const sweeping = setInterval(() => void sweep().catch(() => {}), sweepEvery)
  sweeping.unref()

  /** Lets one change of the list through at a time. */
  const lockList = (db: Queries) => db.run('UPDATE carrel.state SET entities = entities + 1')
  const retire = (db: Queries, name: string) =>
    db.run(
      `INSERT INTO carrel.retired SELECT version, now() FROM carrel.entity WHERE name = $1 AND version IS NOT NULL
       ON CONFLICT DO NOTHING`,
      name,
    )
  const point = (db: Queries, { name, ...definition }: Entity) =>
    db.run(
      `INSERT INTO carrel.entity (name, definition, version, changed) VALUES ($1, $2, $3, $4)
       ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, version = excluded.version,
         changed = excluded.changed`,
      name,
      JSON.stringify(definition),
      definition.source.kind === 'records' ? definition.source.version : null,
      new Date().toISOString(),
    )

  /** The table that an entity shows so far, if it shows one. */
  async function exposedBy(db: Queries, name: string) {
    const [row] = await db.rows<EntityRow>('SELECT name, definition FROM carrel.entity WHERE name = $1', name)
    const source = row && toEntity(row).source
    return source?.kind === 'exposed' ? source : undefined
  }

  /** What no entity shows any more, the reader role may not read any more. */
  async function takeBack(db: Connection, source: ExposedTable | undefined): Promise<void> {
    if (source && (await tableExists(db, source)))
      await letReaderRead(db, source, await columnsShown(db, source))
  }

  /** The columns of a table that entities show, of all of them. */
  async function columnsShown(db: Queries, { schema, table }: ExposedTable) {
    const rows = await db.rows<EntityRow>('SELECT name, definition FROM carrel.entity WHERE version IS NULL')
    const showing = rows
      .map(toEntity)
      .filter(({ source }) => source.kind === 'exposed' && source.schema === schema && source.table === table)
    return [...new Set(showing.flatMap(({ fields }) => fields.map(field => field.name)))]
  }

  return {
    follow: (state, db) => (state === seen ? undefined : read(state, db)),
    all: async () => {
      await look.ask()
      return entities
    },
    list: async (entity, page, viewer, shape, gone) => {
      const { source } = entity
      if (source.kind === 'records') return records.list(entity as RecordEntity, page, shape)
      const rows = source.kind === 'table' ? await audiences.rowsFor(source, viewer, page) : allRows
      return tables(entity, tableOf(entity, source, rows), page, shape, gone)
    },
    publish: async ({ ranks, ...definition }, lines, event) => {
      const version = randomBytes(16).toString('hex')
      const db = await connect()
      try {
        await db.exec('BEGIN')
        // Until an entity points at it; what a process leaves that dies here is removed by any other.
        await db.run('INSERT INTO carrel.retired (version, at) VALUES ($1, now())', version)
        const fields = definition.fields.length
        const written = await writeVersion(db, { version, fields, ranks, records: lines })
        await db.exec('COMMIT')
        await pool.transaction(async changes => {
          await lockList(changes)
          if ((await changes.run('DELETE FROM carrel.retired WHERE version = $1', version)) === 0)
            throw new StoreUnavailable('what was imported was removed before it was in use; import it again')
          await retire(changes, definition.name)
          const before = await exposedBy(changes, definition.name)
          await point(changes, { ...definition, source: { kind: 'records', version, ...written } })
          await takeBack(changes, before)
          await noteEvent(changes, { ...event, object: definition.name })
        })
      } finally {
        await db.close()
      }
      await sweep().catch(() => {})
    },
    drop: async (name, event) => {
      const dropped = await pool.transaction(async db => {
        await lockList(db)
        await retire(db, name)
        const deleted = 'DELETE FROM carrel.entity WHERE name = $1 RETURNING name, definition'
        const [row] = await db.rows<EntityRow>(deleted, name)
        if (!row) return false
        const { source } = toEntity(row)
        if (source.kind === 'exposed') await takeBack(db, source)
        await noteEvent(db, { ...event, object: name })
        return true
      })
      await sweep().catch(() => {})
      return dropped
    },
    expose: async (request, event) => {
      const exposed = await parts.describe(request)
      await pool.transaction(async db => {
        await lockList(db)
        const imported = 'SELECT 1 FROM carrel.entity WHERE name = $1 AND version IS NOT NULL'
        if ((await db.rows(imported, exposed.name)).length > 0)
          throw new ExposeError(`${exposed.name} holds imported records; drop it first`)
        const before = await exposedBy(db, exposed.name)
        await point(db, exposed)
        await takeBack(db, before)
        await letReaderRead(db, request, await columnsShown(db, request))
        await noteEvent(db, { ...event, object: exposed.name })
      })
      return exposed
    },
    get scratchFolder() {
      scratch ??= mkdtempSync(join(tmpdir(), 'carrel-'))
      return scratch
    },
    close: () => {
      clearInterval(sweeping)
      if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true })
    },
  }
}

type ExposedTable = Pick<ExposeRequest, 'schema' | 'table'>

type EntityRow = { name: string; definition: string }

const toEntity = ({ name, definition }: EntityRow): Entity => ({
  name,
  ...(JSON.parse(definition) as Omit<Entity, 'name'>),
})

const allRows: RowsFound = { kind: 'all' }

function tableOf(
  { fields }: Entity,
  source: Exclude<Source, { kind: 'records' }>,
  rows: RowsFound,
): TableShape {
  if (source.kind === 'table')
    return {
      table: `carrel.${quoteName(`${rows.kind === 'counted' ? '' : seenThrough[rows.kind]}${source.table}`)}`,
      rows,
      // As in the embedded store, where JSON is text.
      asText: fields.filter(field => field.type === 'json').map(field => field.name),
      mayHaveLineEnds: false,
    }
  const { schema, table, asText } = source
  return { table: `${quoteName(schema)}.${quoteName(table)}`, asText, mayHaveLineEnds: true, rows }
}
