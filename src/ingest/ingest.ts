import type { FileStore } from '../files/file-store.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Content, NewItem } from '../model/items.ts'
import type { Readers } from '../model/readers.ts'
import type { PutOutcome, Repository } from '../storage/repository.ts'
import type { Candidate, Candidates } from './candidates.ts'
import { BadItem, type FoundFile, type FoundItem } from './item.ts'
import { checkReadable, keepFile } from './keep-file.ts'
import { isUnchanged } from './unchanged.ts'

export interface IngestReport {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  readonly failed: number
  /** The first thousand of those that failed. */
  readonly failures: readonly Failed[]
  /** The identifiers of the first thousand that were there already and were changed, or would be. */
  readonly changes: readonly string[]
  /** How many items have which readers: those that were there, those of the source, those of `--read`, or the default. */
  readonly access: Readonly<Record<Access, number>>
  /** Those of `--read`; null where it wasn't given. */
  readonly read: Readers | null
  readonly dryRun: boolean
  readonly milliseconds: number
}

export type Access = 'kept' | 'source' | 'read' | 'default'

export interface Failed {
  /** The item's folder, or its line. */
  readonly item: string
  readonly reason: string
}

interface Options {
  readonly repository: Pick<Repository, 'knownItems' | 'bitstreamsOf' | 'putItems'>
  readonly files: Pick<FileStore, 'keepOpened' | 'holds'>
  /** Of items that the source names no readers for; null: they keep theirs, and new ones get the default (D7). */
  readonly read: Readers | null
  /** Who did it, for the audit trail. */
  readonly event: AuditEvent
  /** Says what would happen, and writes nothing. */
  readonly dryRun: boolean
  /** Items that are there already, and are not the same, are bad: the source may be a stranger's, who names any. */
  readonly addOnly: boolean
  /** Told of each item that can't go in, as they come. */
  readonly failed: (one: Failed) => void
  readonly progress: (share: number) => void
}

/** Of a list in the report. */
const maxListed = 1_000
/** In one transaction: a run that is killed has little to copy again, and what is in memory has an end. */
const bytesInOne = 64 * 1024 * 1024
const filesInOne = 1_000
/** Files under way at once: Node reads and writes four at a time, and asks the disk for as many. */
const filesAtOnce = 16

const slowMilliseconds = 10 * 60 * 1000

/** An item that is to be put, with its files and what is in them. */
interface Ready {
  readonly where: string
  readonly item: NewItem
  readonly access: 'source' | 'read' | null
  readonly kept: ReadonlyMap<FoundFile, Content>
}

/**
 * Puts a source's items into the repository, some at a time: while one batch is committed, the files of the next are
 * copied. An item whose fingerprint is known is passed over, so that the same run again goes on where it was ended.
 * @throws StoreUnavailable when there is nowhere to put them; what was committed stays
 */
export async function ingest(batches: Candidates, options: Options): Promise<IngestReport> {
  const { repository, files, read, event, dryRun } = options
  const begun = performance.now()
  const counts = { added: 0, changed: 0, unchanged: 0, failed: 0 }
  const failures: Failed[] = []
  const changes: string[] = []
  const access = { kept: 0, source: 0, read: 0, default: 0 }
  /** Of this run: some 100 bytes for each item. */
  const identifiers = new Set<string>()
  const inTurn = createSemaphore(filesAtOnce)

  function fail(item: string, reason: string): void {
    counts.failed++
    if (failures.length < maxListed) failures.push({ item, reason })
    options.failed({ item, reason })
  }

  const accessOf = ({ readers }: FoundItem) => (readers ? 'source' : read ? 'read' : null)

  function count(outcome: PutOutcome, identifier: string, given: Ready['access']): void {
    counts[outcome]++
    if (outcome === 'unchanged') access.kept++
    else access[given ?? (outcome === 'added' ? 'default' : 'kept')]++
    if (outcome === 'changed' && changes.length < maxListed) changes.push(identifier)
  }

  function isNew(candidate: Candidate): candidate is Candidate & { kind: 'item' } {
    if (candidate.kind === 'bad') fail(candidate.where, candidate.reason)
    else if (identifiers.has(candidate.item.identifier))
      fail(candidate.where, `another item before has the identifier ${candidate.item.identifier} too`)
    else {
      identifiers.add(candidate.item.identifier)
      return true
    }
    return false
  }

  /** Does the work for each; those that turn out to be bad are reported and left out. */
  async function forEachGood<T, R>(
    list: readonly (T & { where: string })[],
    work: (one: T & { where: string }) => Promise<R>,
  ): Promise<R[]> {
    const results = await Promise.all(
      list.map(one =>
        work(one).then(
          value => ({ value }),
          error => {
            if (!(error instanceof BadItem)) throw error
            fail(one.where, error.message)
            return undefined
          },
        ),
      ),
    )
    return results.flatMap(one => (one ? [one.value] : []))
  }

  /** Copies the files, and makes of what was found what is put. */
  const prepare = (list: readonly (Candidate & { kind: 'item' })[]): Promise<Ready[]> =>
    forEachGood(list, async ({ where, item }) => {
      const kept = new Map<FoundFile, Content>()
      await Promise.all(
        item.files.map(async file => {
          kept.set(file, await inTurn(() => keepFile(files, file)))
        }),
      )
      return { where, item: toNewItem(item, read, kept), access: accessOf(item), kept }
    })

  /** Contents that a sweep has taken for orphans go back (files/sweep.ts). */
  const putBack = (ready: readonly Ready[]) =>
    forEachGood(ready, async ({ kept }) => {
      for (const [file, content] of kept)
        if (!(await files.holds(content)) && (await keepFile(files, file)).sha256 !== content.sha256)
          throw new BadItem(`${file.path} has changed while it was read; run the command again`)
    })

  async function commit(ready: readonly Ready[], since: number): Promise<void> {
    if (ready.length === 0) return
    // Copying has taken so long that what came first is about to be old.
    if (performance.now() - since > slowMilliseconds) await putBack(ready)
    const items = ready.map(({ item }) => item)
    const outcomes = await repository.putItems(items, event)
    for (const [at, { item, access: given }] of ready.entries())
      count(outcomes[at] ?? 'unchanged', item.identifier, given)
    await putBack(ready)
  }

  let committing: Promise<void> = Promise.resolve()
  async function take(candidates: readonly Candidate[]): Promise<void> {
    const found = candidates.filter(isNew)
    const known = await repository.knownItems(found.map(({ item }) => item.identifier))
    const same = await Promise.all(
      found.map(({ item }) => isUnchanged(item, known.get(item.identifier), read, repository)),
    )
    for (const [at, { item }] of found.entries()) if (same[at]) count('unchanged', item.identifier, null)
    const changed = found.filter((_, at) => !same[at])
    const others = changed.filter(({ where, item }) => {
      if (!options.addOnly || !known.has(item.identifier)) return true
      fail(where, `there is an item ${item.identifier} already, which --add-only leaves as it is`)
      return false
    })
    if (dryRun) {
      await forEachGood(others, async ({ item }) => {
        await checkReadable(item)
        count(known.has(item.identifier) ? 'changed' : 'added', item.identifier, accessOf(item))
      })
    } else
      for (const part of inParts(others)) {
        const since = performance.now()
        const ready = await prepare(part)
        await committing
        committing = commit(ready, since)
        // It is awaited before the next one; what is prepared meanwhile may fail first.
        committing.catch(() => {})
      }
  }

  try {
    for await (const { candidates, share } of batches) {
      await take(candidates)
      options.progress(share)
    }
  } finally {
    await committing
  }
  const milliseconds = Math.round(performance.now() - begun)
  return { ...counts, failures, changes, access, read, dryRun, milliseconds }
}

function* inParts<T extends { item: FoundItem }>(list: readonly T[]): Iterable<T[]> {
  let part: T[] = []
  let bytes = 0
  let files = 0
  for (const one of list) {
    part.push(one)
    bytes += one.item.files.reduce((sum, { size }) => sum + size, 0)
    files += one.item.files.length
    if (bytes < bytesInOne && files < filesInOne) continue
    yield part
    part = []
    bytes = 0
    files = 0
  }
  if (part.length > 0) yield part
}

function toNewItem(
  { files, ...item }: FoundItem,
  read: Readers | null,
  kept: ReadonlyMap<FoundFile, Content>,
): NewItem {
  return {
    ...item,
    readers: item.readers ?? read,
    bitstreams: files.flatMap(file => {
      const { path: _, folder: __, modified: ___, ...bitstream } = file
      const content = kept.get(file)
      return content ? [{ ...bitstream, ...content }] : []
    }),
  }
}
