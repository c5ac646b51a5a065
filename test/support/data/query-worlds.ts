import fc from 'fast-check'
import type { runs } from '../scale.ts'
import { anyString } from './arbitrary-records.ts'

/** A small entity for random queries, with all types, and with values that also occur in other entities. */
export interface Sheet {
  readonly name: string
  readonly key: string | readonly string[]
  /** Each field's value as JSON. A field that is left out is missing. */
  readonly records: readonly Readonly<Record<string, string>>[]
}

const quoted = (text: string) => JSON.stringify(text)

const words = [
  ...['', ' ', 'a', 'A', 'b', 'ab', 'a b', 'ä', 'a\u0308', 'é', 'Straße', 'Z', '"', "it's", '\\', '\n'],
  ...['\u2028', '%', '_', 'null', '5', 'true', '2020-06-30', '\uffff', '\u{10000}', '\u{1f600}', '\ue000'],
]
const word = fc.oneof(
  { arbitrary: fc.constantFrom(...words), weight: 8 },
  { arbitrary: anyString(4), weight: 2 },
  { arbitrary: fc.constantFrom('\0', 'a\0', 'a\0b', '\ud800', 'a\udfff'), weight: 1 },
)

const small = fc.integer({ min: -3, max: 3 }).map(String)
const integer = fc.oneof(
  { arbitrary: small, weight: 4 },
  {
    arbitrary: fc.constantFrom(
      ...['9007199254740992', '9007199254740993', '-9007199254740993', '9223372036854775807'],
      ...['-9223372036854775808', '12345678901234567890', '100000000000000000000000000001'],
    ),
    weight: 2,
  },
  { arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String), weight: 1 },
)
const decimal = fc.oneof(
  { arbitrary: small, weight: 2 },
  {
    arbitrary: fc.constantFrom('0.5', '-0.5', '1.5', '1.0', '0.1', '0.2', '0.3', '2.50', '1e0', '1E+2'),
    weight: 4,
  },
  { arbitrary: fc.constantFrom('0.10000000000000000001', '9007199254740993.5', '1e-7', '1e21'), weight: 1 },
  { arbitrary: fc.integer({ min: -9999, max: 9999 }).map(cents => (cents / 100).toFixed(2)), weight: 2 },
)

const two = (value: number) => String(value).padStart(2, '0')
const dateTime = fc
  .oneof(
    fc.constantFrom(
      ...['2020-06-30T12:00:00Z', '2020-06-30T14:00:00+02:00', '2020-06-30t12:00:00.000z'],
      ...['2020-06-30 12:00:00.5Z', '2020-06-30T12:00:00.49Z', '2020-06-30T11:59:59.999999Z'],
      ...['2020-06-30T00:00:00Z', '2020-01-01T00:00:00-00:00', '1969-12-31T23:59:59.999Z'],
      ...['2020-06-30T12:00:00.1234567Z', '2020-06-30T12:00:00.123456Z', '2020-06-30T12:00:00.123Z'],
    ),
    fc
      .record({
        year: fc.constantFrom(1900, 1969, 2020, 2021),
        month: fc.integer({ min: 1, max: 12 }),
        hour: fc.integer({ min: 0, max: 23 }),
        fraction: fc.constantFrom('', '.5', '.123', '.123456'),
        zone: fc.constantFrom('Z', '+00:00', '+05:30', '-11:00'),
      })
      .map(
        ({ year, month, hour, fraction, zone }) =>
          `${year}-${two(month)}-28T${two(hour)}:30:00${fraction}${zone}`,
      ),
  )
  .map(quoted)

const boolean = fc.constantFrom('true', 'false')
const scalarJson = fc.oneof(small, decimal, integer, word.map(quoted), boolean, fc.constant('null'))
/** Documents; equal ones may have their members in a different order. */
const document = fc.oneof(
  {
    arbitrary: fc
      .record(
        {
          a: fc.oneof(small, word.map(quoted), fc.constant('null')),
          'b.c': boolean,
          turned: boolean,
          list: fc.array(fc.oneof(small, word.map(quoted)), { maxLength: 3 }).map(all => `[${all.join()}]`),
          os: fc.oneof(
            word.map(name => `{"family":${quoted(name)}}`),
            fc.constantFrom('{}', 'null', '5', '[{"family":"a"}]', '{"family":null}'),
          ),
        },
        { requiredKeys: [] },
      )
      .map(
        ({ turned, ...members }) =>
          `{${(turned === 'true' ? Object.entries(members).toReversed() : Object.entries(members))
            .map(([name, value]) => `${quoted(name)}:${value}`)
            .join()}}`,
      ),
    weight: 5,
  },
  { arbitrary: fc.constantFrom('[]', '{}', '[1]', '["a"]', '[[1],2]', '[null]', '[true,"b"]'), weight: 1 },
  {
    arbitrary: fc.constantFrom('{"a":1,"b.c":true}', '{"b.c":true,"a":1}', '{"a":1.0,"b.c":true}', '[1.0]'),
    weight: 2,
  },
)
const tags = fc.oneof(
  {
    arbitrary: fc.array(fc.oneof(word.map(quoted), small), { maxLength: 3 }).map(all => `[${all.join()}]`),
    weight: 4,
  },
  { arbitrary: word.map(quoted), weight: 1 },
)
/** Lists of texts only, like the tags of PuppetDB. */
const labels = fc.array(word.map(quoted), { maxLength: 3 }).map(all => `[${all.join()}]`)
const mixed = fc.oneof(
  { arbitrary: scalarJson.filter(one => one !== 'null'), weight: 5 },
  { arbitrary: document, weight: 1 },
)

const missing = undefined

/** A value that is sometimes null or missing. */
const field = (value: fc.Arbitrary<string>): fc.Arbitrary<string | undefined> =>
  fc.oneof(
    { arbitrary: value, weight: 7 },
    { arbitrary: fc.constant('null'), weight: 2 },
    { arbitrary: fc.constant(missing), weight: 1 },
  )

const number = fc.integer({ min: 1, max: 24 }).map(String)

const records = (
  most: number,
  key: string,
  keys: fc.Arbitrary<string>,
  fields: Readonly<Record<string, fc.Arbitrary<string>>>,
) =>
  fc
    .integer({ min: Math.ceil(most / 2), max: most })
    .chain(count => fc.uniqueArray(keys, { minLength: Math.ceil(count / 2), maxLength: count, size: 'max' }))
    .chain(all =>
      fc.tuple(
        ...all.map((id, at) =>
          fc
            .record(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, field(value)])))
            .map(record => ({
              [key]: id,
              // The first record has all fields, so that each exists.
              ...Object.fromEntries(
                Object.entries(record).flatMap(([name, value]) =>
                  value !== missing ? [[name, value]] : at === 0 ? [[name, 'null']] : [],
                ),
              ),
            })),
        ),
      ),
    ) as fc.Arbitrary<Readonly<Record<string, string>>[]>

/** Declared types, because random values may be of only some kinds. */
export const declaredTypes = {
  things: {
    big: 'integer',
    price: 'number',
    word: 'text',
    at: 'date-time',
    flag: 'boolean',
    doc: 'json',
    tags: 'json',
    labels: 'json',
    mixed: 'json',
    owner: 'integer',
  },
  links: { thing: 'integer', label: 'text', note: 'text' },
  owners: { name: 'text', rank: 'number', born: 'date-time', about: 'json', nick: 'text' },
} as const

const links = (most: number) =>
  fc
    .uniqueArray(fc.tuple(number, word.map(quoted)), {
      minLength: Math.ceil(most / 2),
      maxLength: most,
      size: 'max',
      selector: pair => pair.join(),
    })
    .chain(keys =>
      fc.tuple(
        ...keys.map(([thing, label]) =>
          field(word.map(quoted)).map(note => ({ thing, label, note: note ?? 'null' })),
        ),
      ),
    ) as fc.Arbitrary<Readonly<Record<string, string>>[]>

/** Three entities: things are related to owners, and links have a key of two fields. */
export const sheets = (most: number): fc.Arbitrary<readonly Sheet[]> =>
  fc
    .tuple(
      records(most, 'id', fc.integer({ min: -20, max: 60 }).map(String), {
        big: integer,
        price: decimal,
        word: word.map(quoted),
        at: dateTime,
        flag: boolean,
        doc: document,
        tags,
        labels,
        mixed,
        owner: number,
      }),
      records(Math.ceil(most / 2), 'number', number, {
        name: word.map(quoted),
        rank: fc.oneof(small, decimal),
        born: dateTime,
        about: fc.oneof(document, word.map(quoted), small),
        // This field is declared as text, which may hold any value.
        nick: fc.oneof(word.map(quoted), word.map(quoted), small, boolean, fc.constant('["a"]')),
      }),
      links(most),
    )
    .map(([things, owners, links]) => [
      { name: 'things', key: 'id', records: things },
      { name: 'owners', key: 'number', records: owners },
      { name: 'links', key: ['thing', 'label'], records: links },
    ])

/**
 * Runs a test with random sheets, and with a seed for its queries. The seed in the message of a failure
 * repeats both. Even the first sheets are large, because there are few.
 */
export const forSheets = (
  howOften: ReturnType<typeof runs>,
  work: (sheet: readonly Sheet[], seed: number) => Promise<void>,
): Promise<void> =>
  fc.assert(fc.asyncProperty(sheets(25), fc.integer(), work), {
    ...howOften,
    unbiased: true,
    endOnFailure: true,
  })

/** Collations of fields that are sorted by the rules of a language. */
export const collations = { things: {}, links: {}, owners: { name: 'sv' } } as const

export const lineOf = (record: Readonly<Record<string, string>>): string =>
  `{${Object.entries(record)
    .map(([name, value]) => `${quoted(name)}:${value}`)
    .join()}}`
