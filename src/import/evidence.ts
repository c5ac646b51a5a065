import { readAt } from '../lib/files-at.ts'
import { kindMarks, numberOf, textOfBinary } from '../lib/sort-keys.ts'
import type { Field, FieldType } from '../model/entities.ts'
import type { FieldRecipe } from '../model/recipes.ts'
import { noCode, type Run, readRun, runKinds } from './batches.ts'
import { lineOf } from './check-key.ts'
import { isDayFirst, type Looks, localNumber } from './local-forms.ts'
import type { StagedBatch } from './ranking.ts'
import { RunCursor } from './run-cursor.ts'
import { kindOf } from './types.ts'

/** Kinds of values that decide the type of a field. Texts are told apart by what they look like. */
export type ValueKind = FieldType | 'date' | Looks | 'grouped'

/** Values of one kind in a field. */
interface KindFound {
  readonly kind: ValueKind
  readonly count: number
  /** The first line that has one, and the value there. */
  readonly line: number
  readonly example: string
  /** Those that JSON writes as texts, such as `"1997"` among numbers; absent in a table, where all cells are. */
  readonly quoted?: Omit<KindFound, 'kind' | 'quoted'>
}

interface TextFound {
  readonly text: string
  readonly count: number
  readonly line: number
}

/** The reason why a field has its type, and repairs that would give it another one. */
export interface Evidence {
  /** The most frequent first. */
  readonly kinds: readonly KindFound[]
  /** Texts that look like nothing else, where most values are of another kind; the most frequent first. */
  readonly texts: readonly TextFound[]
  /** Number of further different texts, counted up to a limit. */
  readonly moreTexts: number
  /** Changes to the recipe of the field, the likeliest first. */
  readonly offers: readonly FieldRecipe[]
  /** The sign of a currency that numbers would lose. */
  readonly currency?: string
}

/** Maximum number of different texts that are counted separately, and of those that are told. */
const maxCounted = 200
const maxTold = 20
/** Maximum characters of a value that is told. */
const maxExample = 100
/** Number of values after which a field that mostly has other texts is taken as text. */
const enough = 20_000
/** Separators of lists, by what is looked for. Commas are too frequent in texts to be offered. */
const separators = [';', '|'] as const

type Counted = { count: number; line: number; example: string }

interface Tally {
  readonly kinds: Map<ValueKind, Counted>
  /** Values of kinds that JSON doesn't write as texts. */
  readonly quoted: Map<ValueKind, Counted>
  readonly texts: Map<string, { count: number; line: number }>
  readonly separated: Map<string, number>
  /** Signs of currencies. */
  readonly currencies: Set<string>
  /** True if a text such as `1.5` is a number only with a decimal point, and if one such as `1.500` is another without. */
  isPoint: boolean
  isOther: boolean
  more: number
  total: number
}

/**
 * Looks at the values of a field in the batches as they were read.
 * @param place of the field
 * @returns undefined if there is nothing to explain
 */
export function evidenceOf(
  batches: readonly StagedBatch[],
  place: number,
  { type }: Field,
  {
    isDeclared,
    isTable,
  }: {
    /** True if the recipe declares its type. */
    readonly isDeclared: boolean
    /** True if the file is a table, whose cells are texts that are read as they look. */
    readonly isTable: boolean
  },
): Evidence | undefined {
  if (isDeclared ? type === 'text' || type === 'json' : type !== 'text' && type !== 'json') return undefined
  const tally: Tally = {
    kinds: new Map(),
    quoted: new Map(),
    texts: new Map(),
    separated: new Map(),
    currencies: new Set<string>(),
    isPoint: false,
    isOther: false,
    more: 0,
    total: 0,
  }
  for (const batch of batches) {
    const index = batch.indexes.get(place)
    if (index === undefined) continue
    count(tally, batch, readRun(batch, index))
    if (isText(tally) && tally.total >= enough) break
  }
  if (isTable) tally.quoted.clear()
  const kinds = [...tally.kinds]
    .map(([kind, found]): KindFound => {
      const quoted = tally.quoted.get(kind)
      return { kind, ...found, ...(quoted && { quoted }) }
    })
    .toSorted(byCount)
  const offers = offersFor(tally, type === 'json')
  if (offers.length === 0 && (isDeclared || kinds.length < 2)) return undefined
  const isMinor = !isText(tally)
  const [currency] = tally.currencies
  const texts = isMinor ? [...tally.texts].map(([text, found]) => ({ text, ...found })).toSorted(byCount) : []
  const told = texts.slice(0, maxTold)
  return {
    kinds,
    texts: told.map(one => ({ ...one, text: cut(one.text) })),
    moreTexts: isMinor ? tally.more + texts.length - told.length : 0,
    offers,
    ...(currency !== undefined && offers.some(isLocal) && { currency }),
  }
}

const byCount = (one: { readonly count: number; readonly line: number }, other: typeof one): number =>
  other.count - one.count || one.line - other.line

const isText = ({ kinds, total }: Tally): boolean => 2 * (kinds.get('text')?.count ?? 0) > total

const cut = (text: string): string => (text.length > maxExample ? `${text.slice(0, maxExample)}…` : text)

function count(tally: Tally, batch: StagedBatch, run: Run): void {
  const codes = new Uint16Array(batch.count)
  readAt(run.descriptor, codes, run.codes)
  const counts = new Uint32Array(run.size)
  const firsts = new Uint32Array(run.size)
  for (let n = codes.length - 1; n >= 0; n--) {
    const code = codes[n] as number
    if (code === noCode) continue
    counts[code] = (counts[code] as number) + 1
    firsts[code] = n
  }
  const cursor = new RunCursor(run, true, 1)
  const add = adder(batch)
  const addQuoted = adder(batch)
  for (let n = 0; n < run.size; n++, cursor.next()) {
    const times = counts[cursor.code] as number
    const { kind, text } = valueIn(cursor.key, run.kind)
    const first = firsts[cursor.code] as number
    tally.total += times
    add(tally.kinds, kind, { times, first, text })
    if (cursor.key[0] === kindMarks.text && literals.has(kind))
      addQuoted(tally.quoted, kind, { times, first, text })
    if (cursor.key[0] === kindMarks.text) noteStyle(tally, kind, text)
    if (kind === 'text') countText(tally, text, times, () => lineOf(batch, first))
  }
}

function noteStyle(tally: Tally, kind: ValueKind, text: string): void {
  if (!ofNumbers.has(kind) && kind !== 'number') return
  const { comma, currency } = localNumber(text)
  if (currency !== '') tally.currencies.add(currency)
  if (kind !== 'number') return
  if (comma === undefined) tally.isPoint = true
  else tally.isOther = true
}

/** Kinds of numbers in local forms. */
const ofNumbers: ReadonlySet<ValueKind> = new Set([
  ...(['decimal-comma', 'decimal-point', 'decimal-comma-or-point', 'grouped'] as const),
])
const isLocal = ({ read }: FieldRecipe): boolean => read === 'decimal-comma' || read === 'decimal-point'

/** Kinds of values that JSON writes without quotation marks. */
const literals: ReadonlySet<ValueKind> = new Set(['integer', 'number', 'boolean'])

/** Returns a function that counts values of a batch by kind, with the first record of each. */
function adder(batch: StagedBatch) {
  /** The first record of each kind that is new in this batch. */
  const earliest = new Map<ValueKind, number>()
  return (
    kinds: Map<ValueKind, Counted>,
    kind: ValueKind,
    { times, first, text }: { readonly times: number; readonly first: number; readonly text: string },
  ): void => {
    const known = kinds.get(kind)
    const before = earliest.get(kind)
    if (known) known.count += times
    if (known && (before === undefined || first >= before)) return
    earliest.set(kind, first)
    kinds.set(kind, { count: known?.count ?? times, line: lineOf(batch, first), example: cut(text) })
  }
}

function countText(tally: Tally, text: string, times: number, line: () => number): void {
  for (const separator of separators)
    if (text.includes(separator))
      tally.separated.set(separator, (tally.separated.get(separator) ?? 0) + times)
  const known = tally.texts.get(text)
  if (known) known.count += times
  else if (tally.texts.size < maxCounted) tally.texts.set(text, { count: times, line: line() })
  else tally.more++
}

/** Returns the kind of a value, from its sort key. */
function valueIn(key: string, runKind: number): { readonly kind: ValueKind; readonly text: string } {
  const mark = key[0]
  if (mark === kindMarks.text) {
    const text = textOfBinary(key.slice(1))
    return { kind: runKind === runKinds.instants ? 'date-time' : kindOfText(text), text }
  }
  if (mark === kindMarks.number) {
    const number = numberOf(key)
    return { kind: Number.isInteger(number) ? 'integer' : 'number', text: String(number) }
  }
  return mark === kindMarks.boolean
    ? { kind: 'boolean', text: String(key.endsWith('1')) }
    : { kind: 'json', text: mark === kindMarks.array ? '[…]' : '{…}' }
}

function kindOfText(text: string): ValueKind {
  if (/^-?(0|[1-9]\d*)$/.test(text)) return 'integer'
  if (/^-?(0|[1-9]\d*)\.\d+$/.test(text)) return 'number'
  const { comma, point } = localNumber(text)
  if (comma !== undefined && point !== undefined)
    return comma === point ? 'grouped' : 'decimal-comma-or-point'
  if (comma !== undefined || point !== undefined)
    return comma === undefined ? 'decimal-point' : 'decimal-comma'
  if (isDayFirst(text)) return 'day-first'
  if (/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/.test(text)) return 'date'
  if (/^(true|false)$/i.test(text)) return 'boolean'
  return kindOf(text) === 'date-time' ? 'date-time' : 'text'
}

const numbers = ['grouped', 'integer', 'number'] as const
const [withComma, withPoint] = [{ read: 'decimal-comma' }, { read: 'decimal-point' }] as const
/**
 * Kinds that go together in a field, with the ways to read them; the first is the kind that needs one. Where JSON
 * writes some of them as texts, only `quoted` reads them as what they are.
 */
const families: readonly {
  readonly kinds: readonly ValueKind[]
  readonly ways: readonly FieldRecipe[]
  readonly quoted?: FieldRecipe
}[] = [
  { kinds: ['day-first', 'date'], ways: [{ read: 'day-first' }] },
  { kinds: ['decimal-comma', 'decimal-comma-or-point', ...numbers], ways: [withComma] },
  { kinds: ['decimal-point', 'decimal-comma-or-point', ...numbers], ways: [withPoint] },
  { kinds: ['decimal-comma-or-point', ...numbers], ways: [withComma, withPoint] },
  { kinds: numbers, ways: [withPoint] },
  { kinds: ['number', 'integer'], ways: [{}], quoted: { read: 'number' } },
  { kinds: ['integer'], ways: [{}], quoted: { read: 'integer' } },
  { kinds: ['date'], ways: [{}] },
  { kinds: ['date-time'], ways: [{}] },
  { kinds: ['boolean'], ways: [{}], quoted: { read: 'boolean' } },
]

/** Least share of the values that have to be of a family, and of those that have to look like lists. */
const familyShare = 0.5
const listShare = 0.1

function offersFor(tally: Tally, isMixed: boolean): readonly FieldRecipe[] {
  const { kinds, quoted, texts, more, total, separated } = tally
  const many = (kind: ValueKind) => kinds.get(kind)?.count ?? 0
  const others = many('text')
  const isKnown = more === 0 && texts.size <= maxTold
  const family = families.find(({ kinds: [first, ...rest] }) => {
    if (first === undefined || many(first) === 0) return false
    const own = [first, ...rest].reduce((sum, kind) => sum + many(kind), 0)
    return own + others === total && own >= familyShare * total
  })
  const isQuoted = family?.kinds.some(kind => quoted.has(kind))
  const wanted = (isQuoted && family?.quoted ? [family.quoted] : family?.ways) ?? []
  // Numbers don't tell dollars from euros, and one column isn't read in two ways.
  const isMerged = tally.currencies.size > 1
  const isTorn = tally.isPoint && tally.isOther
  const ways = wanted.filter(way => !(isMerged && isLocal(way)) && !(isTorn && way.read === 'decimal-comma'))
  if (isKnown && (others > 0 || ways.some(({ read }) => read !== undefined)) && ways.length > 0)
    return ways.map(way => ({ ...way, ...(others > 0 && { empty: [...texts.keys()] }) }))
  const [separator, times] = [...separated].toSorted((one, other) => other[1] - one[1])[0] ?? []
  if (separator !== undefined && (times ?? 0) >= listShare * total) return [{ read: 'list', separator }]
  return kinds.size > 1 && (isMixed || kinds.has('json')) ? [{ read: 'text' }] : []
}
