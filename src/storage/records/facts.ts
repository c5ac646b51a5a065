import { PlanRefused } from '../../lib/errors.ts'
import type { FieldType } from '../../model/entities.ts'
import { writtenPath } from '../../model/json-values.ts'
import { type Computed, eachElement, type FieldRef, type Related } from '../../model/plan.ts'
import {
  baseOf,
  type DerivedColumn,
  distinctIn,
  type GivenColumn,
  indexOf,
  isDerived,
  isPacked,
  nameOf,
  type PackedColumn,
  typeOf,
} from '../columns/columns.ts'
import type { GivenSlots } from '../columns/edits.ts'
import type { LoadedRecords } from '../columns/loaded-records.ts'
import { readsOfLookup } from '../columns/look-up.ts'
import type { ReadableRecords } from '../columns/readable-records.ts'
import type { StoredField } from '../columns/stored-field.ts'
import type { PackedFacts } from '../columns/tasks.ts'
import type { GivenValues, PackedValues } from '../columns/values.ts'
import type { GivenWords, PackedWords, StoredWords } from '../columns/word-index.ts'
import type { RecordEntity } from '../entities.ts'
import { whilePresent } from '../runtime/limits.ts'
import { wordsBeside } from './field-files.ts'
import { FieldsAtHand } from './fields-at-hand.ts'
import { entryBytes, type Turn } from './kept-facts.ts'
import type { Need } from './needs.ts'
import { baseEntity, changesOf } from './pending-changes.ts'
import { slotsOf } from './record-source.ts'

/** Maximum number of distinct values that are read at once, so that none is looked up in records. */
const fewValues = 4_096
/** Number of look-ups in records after which all values of a field are read. */
const manyLookups = 200
/** Minimum number of distinct values for postings: with fewer, none is rare enough to be worth the memory. */
const minDistinct = 64

/**
 * Facts about the fields of versions (docs/decisions/0035). Each is made once, in the thread for long work,
 * and kept in the cache that all event loops share. A fact that doesn't fit is made for one request.
 */
export class Facts extends FieldsAtHand {
  /** Makes columns of values of related records. It is here because a default condition has to be found for them. */
  related: (
    turn: Turn,
    entity: RecordEntity,
    ref: FieldRef & { readonly related: Related },
  ) => Promise<DerivedColumn> = () => Promise.reject(new Error('no filters are made yet'))

  /** Notes look-ups in records or in a file. After many, the field is read into memory. */
  note(entity: RecordEntity, { ref, lookups }: Pick<Need, 'ref' | 'lookups'>): void {
    const need = { ref, values: true, lookups: 0, postings: true }
    this.makeLater(entity, `values ${nameOf(entity, ref)}`, lookups, manyLookups, turn =>
      this.stored(entity, ref) ? this.#load(turn, entity, ref) : this.make(turn, entity, need),
    )
  }

  /**
   * Returns the words of a field: from its file, which is written at the first search, or from memory, where
   * a column has no file or none can be written.
   */
  async words(turn: Turn, entity: RecordEntity, ref: FieldRef): Promise<GivenWords> {
    const field = await this.fetched(turn, entity, ref)
    const { type } = typeOf(entity, ref)
    const revised = await this.revised(turn, entity, ref)
    if (revised) {
      const base = (await this.words(turn, baseEntity(entity), ref)) as PackedWords | StoredWords
      const written = await this.kept<PackedWords>(turn, entity, `written ${nameOf(entity, ref)}`, () =>
        turn.work.call('indexWritten', revised, type),
      )
      return { base, written, field: revised }
    }
    if (field) {
      const at = indexOf(entity, ref)
      const known = await this.files.fetchWords(entity, at, turn.client)
      if (known) return known
      const path = wordsBeside(field.path)
      const written = await whilePresent(turn.client, stop =>
        turn.work.call('storeWords', path, field, type, stop),
      )
      if (written) {
        this.files.share(path)
        return written
      }
    }
    return this.kept<PackedWords>(turn, entity, `words ${nameOf(entity, ref)}`, async () => {
      const need = { ref, values: true, lookups: 0, postings: true }
      const { column, values } = await this.make(turn, entity, need)
      if (!values) throw new Error('the values of a field are not at hand')
      return whilePresent(turn.client, stop =>
        turn.work.call('indexWords', values, distinctIn(column), type, stop),
      )
    })
  }

  /** True if the words of a field are at hand. */
  hasWords(entity: RecordEntity, ref: FieldRef): boolean {
    return (
      (this.stored(entity, ref) && this.files.words(entity, indexOf(entity, ref))) !== undefined ||
      this.peekKept(entity, `words ${nameOf(entity, ref)}`) !== undefined
    )
  }

  /** Reads the file of a field into memory, if the cache has room for it. */
  async #load(turn: Turn, entity: RecordEntity, ref: FieldRef): Promise<void> {
    const field = this.stored(entity, ref)
    if (!field || !this.cache.hasRoomFor(2 * sizeInMemory(field))) return
    const name = nameOf(entity, ref)
    await this.kept(turn, entity, `column ${name}`, () => turn.work.call('loadColumn', field))
    await this.kept(turn, entity, `postings ${name}`, () => turn.work.call('loadPostings', field))
    await this.kept(turn, entity, `values ${name}`, () => turn.work.call('loadValues', field))
  }

  /** @returns undefined unless all of it is at hand */
  peek(entity: RecordEntity, need: Need): PackedFacts | undefined {
    const { ref } = need
    const { version } = entity.source
    const name = nameOf(entity, ref)
    const stored = this.peekGiven(entity, ref)
    const column = this.cache.peek<PackedColumn>(version, `column ${name}`) ?? stored
    if (!column) return undefined
    const found = {
      ...typeOf(entity, ref),
      column,
      postings:
        this.cache.peek<Uint32Array<SharedArrayBuffer>>(version, `postings ${name}`) ?? stored ?? null,
      values: this.cache.peek<Uint8Array<SharedArrayBuffer>>(version, `values ${name}`) ?? stored ?? null,
    }
    const wanted = wantedOf(need, column)
    return (wanted.postings && !found.postings) || (wanted.values && !found.values) ? undefined : found
  }

  async make(turn: Turn, entity: RecordEntity, need: Need): Promise<PackedFacts> {
    const { ref } = need
    const found = (await this.#atHand(turn, entity, need)) && this.peek(entity, need)
    if (found) return found
    const revised = await this.revised(turn, entity, ref)
    if (revised) return { ...typeOf(entity, ref), column: revised, postings: revised, values: revised }
    this.#storeBase(entity, ref)
    const name = nameOf(entity, ref)
    const { count } = entity.source
    const column = await this.#packed(turn, entity, ref)
    const wanted = wantedOf(need, column)
    const isKnown = this.cache.peek(entity.source.version, `values ${name}`) !== undefined
    const postings = wanted.postings
      ? await this.kept(turn, entity, `postings ${name}`, () => turn.work.call('postings', column, count))
      : null
    const values = wanted.values || isKnown ? await this.#values(turn, entity, ref, column) : null
    return { ...typeOf(entity, ref), column, postings, values }
  }

  /** Returns the file of a field. Ranks alone are read from the store as fast as a file is brought. */
  async #atHand(turn: Turn, entity: RecordEntity, { ref, values, lookups }: Need) {
    return values || lookups > 0 ? this.fetched(turn, entity, ref) : this.stored(entity, ref)
  }

  /** The slot of a record for each distinct value. */
  async firstSlots(turn: Turn, entity: RecordEntity, column: GivenColumn) {
    return turn.work.call('firstSlots', column, entity.source.count, await this.slots(turn, entity))
  }

  /** All records, if they are loaded. */
  records(entity: RecordEntity, slots: GivenSlots | null): ReadableRecords | null {
    const loaded = this.cache.peek<LoadedRecords>(entity.source.version, 'records')
    return loaded && (slots === null || slots instanceof Uint32Array)
      ? { starts: loaded.starts, json: loaded.json, slots }
      : null
  }

  async #column(turn: Turn, entity: RecordEntity, ref: FieldRef): Promise<GivenColumn> {
    const given = await this.given(turn, entity, ref)
    return given ?? this.#packed(turn, entity, ref)
  }

  #packed(turn: Turn, entity: RecordEntity, ref: FieldRef): Promise<PackedColumn> {
    const what = `column ${nameOf(entity, ref)}`
    if (!isDerived(ref))
      return this.kept(turn, entity, what, () => turn.work.column(entity, indexOf(entity, ref)))
    return this.kept(turn, entity, what, async () => (await this.#derive(turn, entity, ref)).column)
  }

  async #values(turn: Turn, entity: RecordEntity, ref: FieldRef, column: GivenColumn): Promise<GivenValues> {
    const given = await this.given(turn, entity, ref)
    if (given) return given
    const what = `values ${nameOf(entity, ref)}`
    const values = await this.kept(turn, entity, what, async () =>
      isDerived(ref) ? (await this.#derive(turn, entity, ref)).values : this.#read(turn, entity, ref, column),
    )
    this.#store(entity, ref, column, values)
    return values
  }

  /** Writes the file of a field in the background, so that its values are not read again. */
  #store(entity: RecordEntity, ref: FieldRef, column: GivenColumn, values: PackedValues): void {
    if (isDerived(ref) || changesOf(entity) || !isPacked(column)) return
    const path = this.files.pathOf(entity, indexOf(entity, ref))
    this.makeLater(entity, fileName(entity, ref), 1, 1, async ({ work }) => {
      await work.call('storeField', path, typeOf(entity, ref).type, column, entity.source.count, values)
      this.files.share(path)
    })
  }

  /** Makes the file of a field of the base in the background, so that the next change is derived from it. */
  #storeBase(entity: RecordEntity, ref: FieldRef): void {
    const changed = changesOf(entity)
    if (!changed || isDerived(ref)) return
    const need = { ref, values: true, lookups: 0, postings: false }
    this.makeLater(changed.base, `base ${nameOf(entity, ref)}`, 1, 1, turn =>
      this.make(turn, changed.base, need),
    )
  }

  /** Derives a column of a member inside a JSON field, or of computed values, and caches both parts. */
  async #derive(turn: Turn, entity: RecordEntity, ref: FieldRef) {
    const { version } = entity.source
    const made = await this.#derived(turn, entity, ref)
    const name = nameOf(entity, ref)
    await this.keep(version, `column ${name}`, made.column)
    await this.keep(version, `values ${name}`, made.values)
    return made
  }

  async #derived(turn: Turn, entity: RecordEntity, ref: FieldRef): Promise<DerivedColumn> {
    const { related, computed } = ref
    if (related && !computed) return this.related(turn, entity, { ...ref, related })
    const base = baseOf(entity, ref)
    const column = await this.#column(turn, entity, base)
    if (computed) return this.#computed(turn, entity, base, column, { type: ref.type, computed })
    const made = await this.#members(turn, entity, ref, column)
    if (distinctIn(made.column) === 0) await this.#refuseMembersOfLists(turn, entity, ref, column)
    return made
  }

  /** A member that no record has was meant to be one of the elements if some of these have it. */
  async #refuseMembersOfLists(turn: Turn, entity: RecordEntity, ref: FieldRef, column: GivenColumn) {
    const { name, path } = ref
    for (const [at, step] of path.entries()) {
      if (typeof step !== 'string' || path[at - 1] === eachElement) continue
      const [before, after] = [path.slice(0, at), path.slice(at)]
      const meant = { ...ref, path: [...before, eachElement, ...after] }
      if (distinctIn((await this.#members(turn, entity, meant, column)).column) === 0) continue
      const list = writtenPath(name, before)
      throw new PlanRefused(
        `No record of ${entity.name} has ${writtenPath(name, path)}, because ${list} is a list. Write ${writtenPath(name, meant.path)} for any of its elements, or ${writtenPath(`${list}[0]`, after)} for the first.`,
        { mistake: 'list', found: list, nearest: writtenPath(name, meant.path) },
      )
    }
  }

  async #members(turn: Turn, entity: RecordEntity, ref: FieldRef, column: GivenColumn) {
    const texts = await this.#read(turn, entity, ref, column)
    const { type } = typeOf(entity, ref)
    return whilePresent(turn.client, stop =>
      turn.work.call('derive', column, entity.source.count, texts, type, stop),
    )
  }

  /** Derives a column of a value of each distinct one. */
  async #computed(
    turn: Turn,
    entity: RecordEntity,
    base: FieldRef,
    column: GivenColumn,
    of: { readonly type: FieldType; readonly computed: Computed },
  ) {
    const values = await this.#values(turn, entity, base, column)
    const task = { base: column, count: entity.source.count, values, ...of }
    return whilePresent(turn.client, stop => turn.work.call('computed', task, stop))
  }

  /** Reads the field in one record for each distinct value of the column. */
  async #read(turn: Turn, entity: RecordEntity, field: FieldRef, column: GivenColumn) {
    const { work, client } = turn
    const first = await this.firstSlots(turn, entity, column)
    const records = this.records(entity, null)
    if (records) return whilePresent(client, stop => work.call('loadedValues', records, first, field, stop))
    const { slots, places } = await work.call('ascending', first, slotsOf(entity))
    const { parts, lengths } = await whilePresent(client, stop => work.values(entity, slots, field, stop))
    return work.call('arrange', parts, lengths, places)
  }
}

/** Names the writing of a field's file in the background. */
export const fileName = (entity: RecordEntity, ref: FieldRef): string => `file ${nameOf(entity, ref)}`

/** Size in bytes of what `#load` reads, about; the values are not much larger than their text. */
const sizeInMemory = ({ count, distinct, doubles, places, json }: StoredField): number =>
  3 * entryBytes + 8 * (count + distinct) + ((doubles || places) - json)

function wantedOf({ ref, values, lookups, postings }: Need, column: GivenColumn) {
  const distinct = distinctIn(column)
  return {
    values:
      values || isDerived(ref) || (lookups > 0 && distinct <= Math.max(fewValues, lookups * readsOfLookup)),
    postings: postings && distinct >= minDistinct,
  }
}
