import type { Staged } from '../import/staging.ts'
import { fieldValue } from '../import/types.ts'
import { parseWritten } from '../lib/json.ts'
import { textForm } from '../lib/sort-keys.ts'
import type { Entity, Field } from '../model/entities.ts'
import { compareKeys, haveSameOrder } from '../model/record-changes.ts'
import type { Entities, OpenVersion, RecordEntity } from '../storage/entities.ts'
import { type Change, keysOf } from './change-file.ts'
import { type ChangePlan, type Counts, fieldsOf } from './change-plan.ts'

/** Changes by an import: numbers of records, and fields, with the first of each. */
export interface Differences {
  readonly counts: Counts
  readonly first: {
    readonly inserted: readonly RecordKey[]
    readonly replaced: readonly (RecordKey & { readonly fields: readonly ValueChange[] })[]
    readonly deleted: readonly RecordKey[]
  }
  readonly fields: {
    readonly inserted: readonly { readonly name: string; readonly type: string }[]
    readonly retyped: readonly { readonly name: string; readonly before: string; readonly after: string }[]
    readonly deleted: readonly string[]
  }
}

interface RecordKey {
  /** The values of the key fields as texts. */
  readonly key: readonly string[]
}

/** The value of a field before and after, as JSON that may be cut. */
interface ValueChange {
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Maximum number of records of each kind, and of fields of a record, that are shown. */
const maxFirst = 10
const maxShownFields = 20
/** Maximum characters of a value that is shown. */
const maxValue = 200
/** Maximum number of records read at a time, and their maximum bytes, assuming that each is as large as the largest. */
const maxRead = 1_000
const readBytes = 8 * 1024 * 1024

type Members = Readonly<Record<string, unknown>>

/**
 * Compares the records of a version with those that are to replace it. Both are in the order of the key, so
 * each is read once. Equal texts need no parsing.
 * @returns undefined if the two are in different orders, because the key or its types differ
 */
export async function differencesOf(
  before: RecordEntity,
  staged: Staged,
  key: Entity['key'],
  { openVersion }: Pick<Entities, 'openVersion'>,
  signal: AbortSignal | undefined,
): Promise<Differences | undefined> {
  if (!haveSameOrder(before, { key, fields: staged.fields })) return undefined
  const version = await openVersion(before)
  try {
    const found = new Found(before, { ...before, key, fields: staged.fields })
    const records = staged.records(false)[Symbol.iterator]()
    let after = records.next()
    for await (const chunk of recordsOf(before, version, await version.slots())) {
      signal?.throwIfAborted()
      for (const json of chunk) {
        for (; !after.done && found.isBehind(after.value, json); after = records.next())
          found.insert(after.value)
        if (!after.done && found.compare(json, after.value)) after = records.next()
        else if (after.done) found.delete(json)
      }
    }
    for (; !after.done; after = records.next()) found.insert(after.value)
    return found.differences
  } finally {
    await version.close()
  }
}

/** Reads records of a version, some at a time. */
export async function* recordsOf(
  { source: { largest } }: RecordEntity,
  version: OpenVersion,
  slots: Uint32Array,
): AsyncIterable<readonly string[]> {
  const step = Math.max(1, Math.min(maxRead, Math.floor(readBytes / Math.max(largest, 1))))
  for (let from = 0; from < slots.length; from += step)
    yield await version.read(slots.subarray(from, from + step))
}

/** Counts differences, and remembers the first ones. */
class Found {
  readonly #keyOf: (record: Members) => readonly string[]
  readonly #compare: (one: readonly string[], other: readonly string[]) => number
  readonly #names: readonly string[]
  readonly #fields: Differences['fields']
  readonly #counts = { inserted: 0, replaced: 0, deleted: 0, unchanged: 0 }
  readonly #inserted: RecordKey[] = []
  readonly #replaced: (RecordKey & { readonly fields: readonly ValueChange[] })[] = []
  readonly #deleted: RecordKey[] = []
  /** The last text that was parsed, on each side. */
  #old = { json: '', record: {} as Members, key: [] as readonly string[] }
  #new = this.#old

  constructor(before: RecordEntity, after: RecordEntity) {
    this.#keyOf = keysOf(after)
    this.#compare = compareKeys(after)
    this.#names = [after.key].flat()
    this.#fields = fieldChanges(before.fields, after.fields)
  }

  #parsed(json: string) {
    const record = parseWritten(json) as Members
    return { json, record, key: this.#keyOf(record) }
  }

  #order(old: string, now: string): number {
    if (this.#old.json !== old) this.#old = this.#parsed(old)
    if (this.#new.json !== now) this.#new = this.#parsed(now)
    return this.#compare(this.#old.key, this.#new.key)
  }

  /** True if the new record comes before the old one. */
  isBehind(now: string, old: string): boolean {
    return now !== old && this.#order(old, now) > 0
  }

  insert(json: string): void {
    this.#counts.inserted++
    if (this.#inserted.length < maxFirst) this.#inserted.push(this.#keyIn(parseWritten(json) as Members))
  }

  delete(json: string): void {
    this.#counts.deleted++
    if (this.#deleted.length < maxFirst) this.#deleted.push(this.#keyIn(parseWritten(json) as Members))
  }

  /** Compares an old record with a new one that doesn't come before it. @returns true if they have one key */
  compare(old: string, now: string): boolean {
    if (old === now) {
      this.#counts.unchanged++
      return true
    }
    if (this.#order(old, now) !== 0) {
      this.delete(old)
      return false
    }
    this.replace(this.#old.record, this.#new.record)
    return true
  }

  replace(before: Members, after: Members): void {
    const fields = valueChanges(before, after)
    if (fields.length === 0) this.#counts.unchanged++
    else this.#counts.replaced++
    if (fields.length > 0 && this.#replaced.length < maxFirst)
      this.#replaced.push({ ...this.#keyIn(after), fields: fields.slice(0, maxShownFields) })
  }

  #keyIn(record: Members): RecordKey {
    return { key: keyTexts(this.#names, record) }
  }

  get differences(): Differences {
    return {
      counts: this.#counts,
      first: { inserted: this.#inserted, replaced: this.#replaced, deleted: this.#deleted },
      fields: this.#fields,
    }
  }
}

const keyTexts = (names: readonly string[], record: Members): readonly string[] =>
  names.map(name => cut(textForm(fieldValue(record, name))))

function valueChanges(before: Members, after: Members): readonly ValueChange[] {
  const changes: ValueChange[] = []
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before, after].map(record => JSON.stringify(fieldValue(record, name)))
    if (was !== is) changes.push({ name, before: cut(was ?? 'null'), after: cut(is ?? 'null') })
  }
  return changes
}

const cut = (text: string): string => (text.length > maxValue ? `${text.slice(0, maxValue)}…` : text)

function fieldChanges(before: readonly Field[], after: readonly Field[]): Differences['fields'] {
  const [was, is] = [before, after].map(fields => new Map(fields.map(field => [field.name, field.type])))
  return {
    inserted: after.flatMap(({ name, type }) => (was?.has(name) ? [] : [{ name, type }])),
    retyped: after.flatMap(({ name, type }) => {
      const old = was?.get(name)
      return old === undefined || old === type ? [] : [{ name, before: old, after: type }]
    }),
    deleted: before.flatMap(({ name }) => (is?.has(name) ? [] : [name])),
  }
}

/** Returns the differences that an update or a deletion makes. @param deleted the records that it deletes */
export function differencesOfPlan(plan: ChangePlan, counts: Counts, deleted: readonly Change[]): Differences {
  const names = [plan.entity.key].flat()
  const withKey = ({ record }: Pick<Change, 'record'>) => ({ key: keyTexts(names, record) })
  const inserted: RecordKey[] = []
  const replaced: Differences['first']['replaced'][number][] = []
  for (const [n, change] of plan.written.entries()) {
    const before = plan.replaced[n]
    if (!before && inserted.length < maxFirst) inserted.push(withKey(change))
    else if (before && replaced.length < maxFirst)
      replaced.push({
        ...withKey(change),
        fields: valueChanges(before.record, change.record).slice(0, maxShownFields),
      })
  }
  return {
    counts,
    first: { inserted, replaced, deleted: deleted.slice(0, maxFirst).map(withKey) },
    fields: fieldChanges(plan.entity.fields, fieldsOf(plan)),
  }
}
