import fc from 'fast-check'
import { type Kind, type RawField, type RawOrder, type RawRecord, recordText } from './oracle.ts'

/** A random entity with every kind of JSON value, mostly awkward ones. */
export interface RawEntity {
  readonly key: string
  readonly records: readonly RawRecord[]
  /** The content of the file to import. */
  readonly ndjson: string
}

const awkwardTexts = [
  ...['', ' ', 'a', 'A', 'b', 'aa', 'ä', 'a\u0308', 'é', 'Z', 'z', '\0', 'a\0', 'a\0b', '\x7f', '\x1f'],
  ...['"', '""', ',', '\n', '\r', '\r\n', '\\', '\\u0041', '=1+1', 'null', 'true', '12', '\u2028'],
  // U+FFFF comes after U+10000 in UTF-16, but before it in code points.
  ...['\uffff', '\u{10000}', '\ue000', '\u{1f600}', '\u{10ffff}', '\ufeff', '\ufeffa', '\ufffd'],
]

/** Any character but a surrogate. fast-check's own generator takes a second to start. */
const character = fc
  .integer({ min: 0, max: 0x10f7ff })
  .map(place => String.fromCodePoint(place < 0xd800 ? place : place + 0x800))

export const anyString = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: character, maxLength })

export const text: fc.Arbitrary<string> = fc.oneof(fc.constantFrom(...awkwardTexts), anyString(6))

/** Any text, also with unpaired surrogates, which JSON can hold (RFC 8259 §8.2) and UTF-8 can't. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  text,
  fc.constantFrom('\ud800', '\udfff', '\udc00\ud800', 'a\ud83d', '\ud7ff', '\ue000'),
  fc
    .array(fc.integer({ min: 0xd7fe, max: 0xe001 }), { maxLength: 3 })
    .map(units => String.fromCharCode(...units)),
)

const integer = fc.oneof(
  fc.integer({ min: -3, max: 3 }).map(String),
  fc.maxSafeInteger().map(String),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
)

const double = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .map(value => (Object.is(value, -0) ? '0' : String(value)))

const pad = (value: number, width: number) => String(value).padStart(width, '0')

const dateTime = fc.oneof(
  // One instant in several forms, and its neighbors.
  fc.constantFrom(
    ...['2020-06-30T12:00:00Z', '2020-06-30T14:00:00+02:00', '2020-06-30t12:00:00.000z'],
    ...['2020-06-30 12:00:00.5Z', '2020-06-30T12:00:00.49Z', '2020-06-30T11:59:59.999999999Z'],
    ...['2020-06-30T12:00:00.50-00:00', '2020-06-29T23:59:00-12:01', '2020-07-01T01:59:00+13:59'],
  ),
  fc
    .record({
      year: fc.integer({ min: 1, max: 9998 }),
      month: fc.integer({ min: 1, max: 12 }),
      day: fc.integer({ min: 1, max: 28 }),
      time: fc.tuple(
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: 0, max: 59 }),
      ),
      fraction: fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,9}$/)),
      zone: fc.oneof(fc.constant('Z'), fc.stringMatching(/^[-+](0\d|1[0-4]):[0-5]\d$/)),
    })
    .map(
      ({ year, month, day, time, fraction, zone }) =>
        `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}T${time.map(one => pad(one, 2)).join(':')}${fraction}${zone}`,
    ),
)

const quoted = (one: string) => JSON.stringify(one)

function jsonValue(kind: Kind | 'mixed' | 'wordy', words: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const nested = fc.oneof(fc.constantFrom(...neighbours), nestedJson)
  const kinds = {
    integer,
    number: fc.oneof(integer, double),
    boolean: fc.constantFrom('true', 'false'),
    'date-time': dateTime.map(quoted),
    text: words.map(quoted),
    json: nested,
    wordy: fc.oneof(words.map(quoted), dateTime.map(quoted)),
  }
  if (kind !== 'mixed') return kinds[kind]
  return fc.oneof(kinds.integer, kinds.number, kinds.boolean, kinds.text, kinds.json, kinds['date-time'])
}

/** Nested values that are close to each other; some are equal. */
export const neighbours = [
  '[] {} [1] [1.0] [10] [2] [-1] [1,0] [1,null] [null] [false] [[]] [{}] [[1]] [[],1] [""] ["a"] ["ab"] ["a","b"]',
  '["a\\u0000"] ["a\\u0000","b"] ["\\u0000"] [0.5] [9007199254740992] [9007199254740993] [9007199254740994]',
  '{"a":null} {"a":1} {"b":1} {"aa":1} {"aa":1,"c":1} {"b":1,"d":1} {"b":2,"a":1} {"a":1,"b":2} {"ä":1} {"zz":1}',
].flatMap(some => some.split(' '))

const nestedJson = fc
  .jsonValue({ maxDepth: 2 })
  .filter(value => typeof value === 'object' && value !== null)
  .map(value => JSON.stringify(value))

const oddNames = [
  ...['', 'a b', 'select', 'ä', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'],
  ...['"', "'", '`', ']', 'a"b', "a'b", 'a,b', 'a\nb', '\0', 'order', 'field', 'rowid', 'n', 'json', 'c0'],
  ...['Name', 'name', '%', '$.a', 'a.b', '?', ':a', '\u{1f600}'],
]

const fieldName = fc.oneof(
  fc.constantFrom(...oddNames),
  // JavaScript moves names that look like an index to the front, so nothing can be asserted about their
  // order.
  anyString(8).filter(name => !/^\d+$/.test(name)),
)

const kinds: readonly (Kind | 'mixed' | 'wordy')[] = [
  ...(['integer', 'number', 'boolean', 'date-time', 'text', 'json', 'mixed', 'wordy'] as const),
]

/** Stands for a missing field. */
const missing = Symbol('missing')

/** @param words the texts that the entity is made of */
export function rawEntity(
  words: fc.Arbitrary<string>,
  { least = 1, most = 25 }: { readonly least?: number; readonly most?: number } = {},
): fc.Arbitrary<RawEntity> {
  return fc
    .record({
      names: fc.uniqueArray(fieldName, { minLength: 2, maxLength: 6 }),
      fieldKinds: fc.array(fc.constantFrom(...kinds), { minLength: 5, maxLength: 5 }),
      keyKind: fc.constantFrom('integer', 'number', 'text'),
      keyPlace: fc.nat({ max: 5 }),
    })
    .chain(({ names: [key = 'id', ...names], fieldKinds, keyKind, keyPlace }) =>
      fc
        .record({
          keys: fc.uniqueArray(jsonValue(keyKind as Kind, words), { minLength: least, maxLength: most }),
          columns: fc.tuple(
            ...names.map((_, at) =>
              fc.array(
                fc.oneof(
                  { arbitrary: jsonValue(fieldKinds[at] ?? 'text', words), weight: 6 },
                  { arbitrary: fc.constant('null'), weight: 1 },
                  { arbitrary: fc.constant(missing), weight: 1 },
                ),
                { minLength: least, maxLength: most },
              ),
            ),
          ),
        })
        .map(({ keys, columns }) => {
          const records = keys.map((keyValue, n) => {
            const members: [string, string][] = []
            for (const [at, name] of names.entries()) {
              const column = columns[at] ?? []
              const value = column[n % column.length] ?? missing
              if (typeof value === 'string') members.push([name, value])
            }
            members.splice(Math.min(keyPlace, members.length), 0, [key, keyValue])
            return new Map(members)
          })
          return { key, records, ndjson: records.map(record => `${recordText(record)}\n`).join('') }
        }),
    )
}

export interface RawPage {
  readonly order: readonly RawOrder[]
  readonly limit?: number
  readonly offset?: number
}

/** A page of any entity. Numbers stand for fields. */
export interface PagePlan extends Pick<RawPage, 'limit' | 'offset'> {
  readonly entries: readonly (readonly [place: number, order: string | undefined])[]
}

export const pagePlan = (most: number): fc.Arbitrary<PagePlan> =>
  fc.record(
    {
      entries: fc.array(
        fc.tuple(fc.nat({ max: 100 }), fc.constantFrom(undefined, 'asc', 'desc', 'desc', 'DESC', 'Asc')),
        { maxLength: 4 },
      ),
      limit: fc.oneof(fc.integer({ min: 1, max: most }), fc.constantFrom(1, Number.MAX_SAFE_INTEGER)),
      offset: fc.oneof(fc.integer({ min: 0, max: most }), fc.constantFrom(0, Number.MAX_SAFE_INTEGER)),
    },
    { requiredKeys: ['entries'] },
  )

export const pageOf = ({ entries, ...window }: PagePlan, fields: readonly RawField[]): RawPage => ({
  ...window,
  order: entries.map(([place, order]) => ({
    field: fields[place % fields.length]?.name ?? '',
    ...(order === undefined ? {} : { order }),
  })),
})
