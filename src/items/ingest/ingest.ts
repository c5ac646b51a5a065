import type { FileStore } from '../../files/file-store.ts'
import { createFairQueue, nobody } from '../../lib/fair-queue.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Content, KnownItem, NewItem } from '../../model/items.ts'
import { type Readers, readersText, readRules } from '../../model/readers.ts'
import type { PutOutcome } from '../statements/put-items.ts'
import type { Repository } from '../statements/repository.ts'
import { type Candidate, type Candidates, inBatches } from './candidates.ts'
import { BadItem, type FoundFile, type FoundItem, renamedIn, toNewItem } from './item.ts'
import { isDescribedAlike, isOfAnother, otherItem } from './origin.ts'
import { checkReadable, keepFile } from './read-file.ts'

export interface IngestReport {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  readonly failed: number
  /** The first thousand bad items. */
  readonly failures: readonly Failed[]
  /** Identifiers of the first thousand existing items that were changed, or would be in a dry run. */
  readonly changes: readonly string[]
  /** Identifiers of the first thousand items that a dry run would add. */
  readonly additions: readonly string[]
  /**
   * Number of items by the origin of their readers: kept from before, from the source, from `--read`, or the default.
   */
  readonly access: Readonly<Record<Access, number>>
  /** The rules of `--read`; null without it. */
  readonly read: Readers | null
  readonly dryRun: boolean
  readonly milliseconds: number
}

/** Returns the part of the report that the list of processes shows. */
export const countsOf = ({ added, changed, unchanged, failed }: IngestReport) => ({
  added,
  changed,
  unchanged,
  failed,
})

type Access = 'kept' | 'source' | 'read' | 'default'

interface Failed {
  /** The item's folder or line. */
  readonly item: string
  readonly reason: string
}

interface Options {
  readonly repository: Pick<Repository, 'addAudiences' | 'bitstreamsOf' | 'knownItems' | 'putItems'>
  readonly files: Pick<FileStore, 'keepOpened' | 'holds'>
  /**
   * Readers for items without readers in the source; null: existing items keep theirs, and new
   * ones get the default (D7).
   */
  readonly read: Readers | null
  /** Fields of metadata that only administrators see (Q19). */
  readonly hidden: readonly string[]
  /** The event for the audit trail. */
  readonly event: AuditEvent
  /** True to only report what would happen, and write nothing. */
  readonly dryRun: boolean
  /** True to refuse changes of existing items: a source from elsewhere may name any identifier. */
  readonly addOnly: boolean
  /** Returns the option or parameter that names a source, such as `--name letters`, for messages. */
  readonly nameIs: (name: string) => string
  /** Called for anything that differs from what the source says. */
  readonly note: (line: string) => void
  /** Called for each bad item. */
  readonly failed: (one: Failed) => void
  readonly progress: (share: number) => void
}

/** Maximum number of entries of a list in the report. */
const maxListed = 1_000
/** Maximum number of files copied concurrently. Node's thread pool handles four operations at a time. */
const maxCopies = 16

/**
 * Time in ms of copying after which the files of a batch are checked before the commit, because the
 * first ones soon count as old.
 */
const slowMilliseconds = 10 * 60 * 1000

/** An item whose files have been copied. */
interface Prepared {
  readonly where: string
  readonly item: NewItem
  readonly access: 'source' | 'read' | null
  readonly kept: ReadonlyMap<FoundFile, Content>
}

/**
 * Stores a source's items in batches: while one batch is committed, the files of the next are copied.
 * Unchanged items are skipped, so that a repeated run continues where the last one stopped.
 * @throws ImportError for an item that may belong to another source (docs/decisions/0059)
 * @throws StoreUnavailable if the store or the disk can't take the items; committed ones stay
 */
export async function ingest(batches: Candidates, options: Options): Promise<IngestReport> {
  const begun = performance.now()
  const run = new Ingest(options)
  try {
    for await (const { candidates, share } of batches) {
      await run.take(candidates)
      options.progress(share)
    }
  } finally {
    await run.committing
  }
  return run.report(Math.round(performance.now() - begun))
}

class Ingest {
  readonly #options: Options
  readonly #counts = { added: 0, changed: 0, unchanged: 0, failed: 0 }
  readonly #failures: Failed[] = []
  readonly #changes: string[] = []
  readonly #additions: string[] = []
  readonly #access = { kept: 0, source: 0, read: 0, default: 0 }
  /** Identifiers of the items in this run, some 100 bytes each. */
  readonly #identifiers = new Set<string>()
  readonly #copies = createFairQueue({ max: maxCopies, maxOfOne: maxCopies })
  committing: Promise<void> = Promise.resolve()

  constructor(options: Options) {
    this.#options = options
  }

  report(milliseconds: number): IngestReport {
    const { read, dryRun } = this.#options
    const lists = { failures: this.#failures, changes: this.#changes, additions: this.#additions }
    return { ...this.#counts, ...lists, access: this.#access, read, dryRun, milliseconds }
  }

  async take(candidates: readonly Candidate[]): Promise<void> {
    const { repository, read, dryRun, nameIs, note } = this.#options
    const found = candidates.filter(one => this.#isAcceptable(one))
    const known = await repository.knownItems(found.map(({ item }) => item.identifier))
    const same = await Promise.all(
      found.map(({ item }) => isUnchanged(item, known.get(item.identifier), read, repository)),
    )
    for (const [at, { item }] of found.entries())
      if (same[at]) this.#count('unchanged', item.identifier, null)
    const changed = found.filter((_, at) => !same[at])
    const toPut = changed.filter(one => this.#mayPut(one, known))
    const other = toPut.find(({ item }) => isOfAnother(item, known.get(item.identifier)))
    if (other) throw otherItem(other.where, other.item.identifier, nameIs)
    for (const { where, item } of toPut) for (const line of renamedIn(item)) note(`${where}: ${line}`)
    if (dryRun) await this.#pretend(toPut, known)
    else await this.#put(toPut, known)
  }

  #isAcceptable(candidate: Candidate): candidate is Good {
    if (candidate.kind === 'bad') this.#fail(candidate.where, candidate.reason)
    else if (this.#identifiers.has(candidate.item.identifier))
      this.#fail(candidate.where, `an earlier item has the same identifier ${candidate.item.identifier}`)
    else {
      this.#identifiers.add(candidate.item.identifier)
      return true
    }
    return false
  }

  #mayPut({ where, item }: Good, known: Known): boolean {
    if (!this.#options.addOnly || !known.has(item.identifier)) return true
    this.#fail(where, `the item ${item.identifier} already exists, and --add-only changes no existing item`)
    return false
  }

  #fail(item: string, reason: string): void {
    this.#counts.failed++
    if (this.#failures.length < maxListed) this.#failures.push({ item, reason })
    this.#options.failed({ item, reason })
  }

  #count(outcome: Exclude<PutOutcome, 'taken'>, identifier: string, given: Prepared['access']): void {
    this.#counts[outcome]++
    if (outcome === 'unchanged') this.#access.kept++
    else this.#access[given ?? (outcome === 'added' ? 'default' : 'kept')]++
    if (outcome === 'changed' && this.#changes.length < maxListed) this.#changes.push(identifier)
    const isAddition = this.#options.dryRun && outcome === 'added'
    if (isAddition && this.#additions.length < maxListed) this.#additions.push(identifier)
  }

  #accessOf({ readers }: FoundItem): Prepared['access'] {
    if (readers) return 'source'
    return this.#options.read ? 'read' : null
  }

  /** Counts what would be done. */
  async #pretend(toPut: readonly Good[], known: Known): Promise<void> {
    const readable = await this.#mapGood(toPut, async ({ item }) => {
      await checkReadable(item)
      return item
    })
    // Outcomes are counted in the order of the source, whichever item was checked first.
    for (const item of readable)
      this.#count(known.has(item.identifier) ? 'changed' : 'added', item.identifier, this.#accessOf(item))
  }

  async #put(toPut: readonly Good[], known: Known): Promise<void> {
    for (const part of inBatches(toPut)) {
      const since = performance.now()
      const ready = await this.#prepare(part, known)
      await this.committing
      this.committing = this.#commit(ready, since)
      // It is awaited before the next commit. If preparing fails first, its rejection must not count as unhandled.
      this.committing.catch(() => {})
    }
  }

  /** Copies the files of items. */
  #prepare(list: readonly Good[], known: Known): Promise<Prepared[]> {
    const { files, read } = this.#options
    return this.#mapGood(list, async ({ where, item }) => {
      const kept = new Map<FoundFile, Content>()
      await Promise.all(
        item.files.map(async file => {
          kept.set(file, await this.#copies.run(nobody, () => keepFile(files, file)))
        }),
      )
      const put = toNewItem(item, read, kept, known.get(item.identifier))
      return { where, item: put, access: this.#accessOf(item), kept }
    })
  }

  async #commit(ready: readonly Prepared[], since: number): Promise<void> {
    if (ready.length === 0) return
    const { repository, event, hidden, nameIs } = this.#options
    if (performance.now() - since > slowMilliseconds) await this.#restoreSwept(ready)
    const items = ready.map(({ item }) => item)
    await repository.addAudiences(items)
    const outcomes = await repository.putItems(items, event, hidden)
    for (const [at, { where, item, access }] of ready.entries()) {
      const outcome = outcomes[at] ?? 'unchanged'
      // Another run has stored the item since it was looked up.
      if (outcome === 'taken') throw otherItem(where, item.identifier, nameIs)
      this.#count(outcome, item.identifier, access)
    }
    await this.#restoreSwept(ready)
  }

  /** Copies contents again that a sweep has removed as orphans (files/sweep.ts). */
  async #restoreSwept(ready: readonly Prepared[]): Promise<void> {
    const { files } = this.#options
    await this.#mapGood(ready, async ({ kept }) => {
      for (const [file, content] of kept)
        if (!(await files.holds(content)) && (await keepFile(files, file)).sha256 !== content.sha256)
          throw new BadItem(`${file.path} changed while it was being read; run the command again`)
    })
  }

  /** Maps all elements concurrently. Bad ones are reported and left out. */
  async #mapGood<T extends { where: string }, R>(
    list: readonly T[],
    work: (one: T) => Promise<R>,
  ): Promise<R[]> {
    const results = await Promise.all(
      list.map(one =>
        work(one).then(
          value => ({ value }),
          error => {
            if (!(error instanceof BadItem)) throw error
            this.#fail(one.where, error.message)
            return undefined
          },
        ),
      ),
    )
    return results.flatMap(one => (one ? [one.value] : []))
  }
}

type Good = Candidate & { kind: 'item' }
type Known = ReadonlyMap<string, KnownItem>

const keyOf = ({ bundle, name }: Pick<FoundFile, 'bundle' | 'name'>) => JSON.stringify([bundle, name])

/**
 * True if nothing has to be done: the source's description is unchanged, and if the source names no readers, the item
 * and its files already have those of `--read`. Without `--read`, they keep the readers they have (D7).
 */
async function isUnchanged(
  item: FoundItem,
  known: KnownItem | undefined,
  read: Readers | null,
  repository: Pick<Repository, 'bitstreamsOf'>,
): Promise<boolean> {
  if (!known || !isDescribedAlike(known.fingerprint, item.fingerprint)) return false
  if (item.readers !== null || read === null) return true
  const wanted = readersText(read)
  if (readersText(readRules(known.readers)) !== wanted) return false
  const withOwn = new Set(item.files.filter(({ readers }) => readers !== null).map(keyOf))
  const bitstreams = await repository.bitstreamsOf(known.uuid)
  return bitstreams.every(one => withOwn.has(keyOf(one)) || readersText(readRules(one.readers)) === wanted)
}
