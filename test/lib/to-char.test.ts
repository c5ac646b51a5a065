import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { instantFormat } from '../../src/lib/to-char-instant.ts'
import { numberFormat } from '../../src/lib/to-char-number.ts'
import { toText } from '../../src/model/functions/to-string.ts'
import { repeats, runs } from '../support/scale.ts'
import { closeDatabases, serverUrl } from '../support/service/databases.ts'

/** Writes a value with a mask. */
const toChar = (value: { readonly instant: string } | { readonly number: string }, mask: string) =>
  'instant' in value ? instantFormat(mask)(value.instant) : numberFormat(mask)(value.number)

/** Returns the reason why a mask is refused. */
function checkMask(text: string, kind: 'instant' | 'number'): string | undefined {
  const given = { kind: 'text', text, shown: 'x', wrong: (message: string) => new Error(message) }
  try {
    toText.plan(kind === 'instant' ? 'date-time' : 'number', given)
    return undefined
  } catch (error) {
    return /^The mask x can't be used: (.*)\.$/s.exec((error as Error).message)?.[1]
  }
}

/** Returns the mask with which a statement of PostgreSQL asks. */
function plainMask(mask: string, kind: 'instant' | 'number'): string {
  const bound: string[] = []
  const none = () => ''
  const bindText = (text: string) => String(bound.push(text))
  const value = { sql: '', isTime: kind === 'instant', number: none, time: none, json: none, bindText }
  toText.postgres({ kind: 'to_string', mask }, value)
  return bound[0] ?? assert.fail('no mask was bound')
}

test('Q22 to_string writes instants by PostgreSQL’s masks', () => {
  const instant = '2026-01-01T04:19:47.012345678Z'
  for (const [mask, expected] of [
    ['YYYY-MM-DD"T"HH24:MI:SS.MSOF', '2026-01-01T04:19:47.012+00'],
    ['DAY, Day, FMday', 'THURSDAY , Thursday , thursday'],
    ['FMMonth FMDDth, YYYY', 'January 1st, 2026'],
    ['IYYY-"W"IW-ID', '2026-W01-4'],
    ['Q CC J DDD W RM', '1 21 2461042 001 1 I   '],
    ['AM HH12 a.m.', 'AM 04 a.m.'],
    ['US FF1 FF2 SSSS TZ', '012345 0 01 15587 UTC'],
    ['\\"YY\\" é😀', '"26" é😀'],
  ] as const)
    assert.equal(toChar({ instant }, mask), expected, mask)
})

test('Q22 to_string writes numbers by PostgreSQL’s masks', () => {
  for (const [number, mask, expected] of [
    ['-485', '999', '-485'],
    ['485', '9 9 9', ' 4 8 5'],
    ['1485', '9,999', ' 1,485'],
    ['148.5', '999.999', ' 148.500'],
    ['148.5', 'FM999.999', '148.5'],
    ['-485', '999S', '485-'],
    ['-485', '999PR', '<485>'],
    ['485', 'FMRN', 'CDLXXXV'],
    ['482', '999th', ' 482nd'],
    ['12.45', '99V9', ' 125'],
    ['0.0004859', '9.99EEEE', ' 4.86e-04'],
    ['123456789012345678901234567890', '9', ' #'],
    ['123456789012345678901234567890', 'FM999999999999999999999999999999', '123456789012345678901234567890'],
    ['1e999999999', '99.9', ' ##.#'],
    ['1e-999999999', '99.9', '   .0'],
  ] as const)
    assert.equal(toChar({ number }, mask), expected, `${number} ${mask}`)
})

test('Q22 a mask that means nothing, or depends on the server, is refused with the reason', () => {
  for (const [mask, expected] of [
    ['9.9.9', 'there may be one decimal point only'],
    ['S9MI', 'S excludes MI'],
    ['9PR9', '9 must be before PR'],
    ['L9', 'L depends on the country of the server'],
    ['TH', 'TH needs a digit before it'],
    ['9EEEE9', 'EEEE must be the last pattern'],
    ['RN.', 'RN goes with FM only'],
  ] as const)
    assert.equal(checkMask(mask, 'number'), expected, mask)
  assert.equal(checkMask('TMMonth', 'instant'), 'TM depends on the language of the server')
  assert.equal(checkMask('"TMMonth"', 'instant'), undefined)
  assert.match(checkMask('', 'instant') ?? '', /at least one/)
  assert.match(checkMask('9'.repeat(201), 'number') ?? '', /at most 200/)
  assert.match(checkMask('\ud800', 'instant') ?? '', /well-formed/)
})

const literals = ['"', '\\', '\\"', '"a b"', '"\\""', ' ', '-', '/', ':', 'x', 'é', '😀', 'T', 'F', '#']
const datePatterns = [
  ...[
    'A.D.',
    'AD',
    'b.c.',
    'bc',
    'A.M.',
    'pm',
    'CC',
    'cc',
    'DAY',
    'Day',
    'day',
    'DDD',
    'DD',
    'DY',
    'Dy',
    'dy',
    'D',
    'd',
  ],
  ...[
    'FF1',
    'ff3',
    'FF6',
    'FX',
    'HH24',
    'HH12',
    'hh',
    'IDDD',
    'ID',
    'IW',
    'iw',
    'IYYY',
    'IYY',
    'IY',
    'I',
    'J',
    'MI',
    'MM',
  ],
  ...[
    'MONTH',
    'Month',
    'month',
    'MON',
    'Mon',
    'mon',
    'MS',
    'OF',
    'of',
    'Q',
    'RM',
    'rm',
    'SSSSS',
    'SSSS',
    'SS',
    'TZH',
    'TZM',
  ],
  ...['TZ', 'tz', 'US', 'WW', 'W', 'Y,YYY', 'YYYY', 'YYY', 'YY', 'Y', 'yyyy', 'FM', 'fm', 'TH', 'th', 'SP'],
]
const numberPatterns = [
  ...[
    '9',
    '9',
    '9',
    '9',
    '9',
    '0',
    '0',
    '.',
    '.',
    'D',
    ',',
    'G',
    'S',
    's',
    'PL',
    'MI',
    'SG',
    'PR',
    'V',
    'FM',
    'fm',
    'EEEE',
  ],
  ...['RN', 'rn', 'TH', 'th', 'B', 'C', 'SP', 'L', '999', '0009', '9.99'],
]
const maskOf = (patterns: readonly string[]) =>
  fc
    .array(
      fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...patterns) },
        { weight: 1, arbitrary: fc.constantFrom(...literals) },
      ),
      {
        minLength: 1,
        maxLength: 9,
      },
    )
    .map(list => list.join(''))

const instants = fc
  .tuple(
    fc.oneof(fc.integer({ min: -4700, max: 12_000 }), fc.integer({ min: 1990, max: 2030 })),
    fc.integer({ min: 0, max: 366 * 86_400 - 1 }),
    fc.integer({ min: 0, max: 999_999 }),
  )
  .map(([year, second, micros]) => {
    const date = new Date(0)
    date.setUTCFullYear(year, 0, 1)
    date.setUTCSeconds(second)
    return date.toISOString().replace(/\.\d+Z$/, `.${String(micros).padStart(6, '0')}Z`)
  })
const decimals = fc.oneof(
  fc.integer({ min: -12, max: 130 }).map(String),
  fc
    .tuple(fc.bigInt({ min: -(10n ** 7n), max: 10n ** 7n }), fc.integer({ min: -9, max: 3 }))
    .map(([digits, power]) => `${digits}e${power}`),
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 })
    .map(number => JSON.stringify(number)),
  fc.constantFrom(
    '0',
    '-0',
    '0.5',
    '-0.5',
    '9.99',
    '99.95',
    '-999.5',
    '3999',
    '4000',
    '0.00',
    '1e20',
    '-1e-20',
    '9.5e-7',
  ),
)

/** Converts an instant whose year has a sign in ISO 8601 to PostgreSQL's form. */
function forPostgres(instant: string): string {
  const [, year = '', rest = ''] = /^([+-]?\d+)(-.*)$/.exec(instant) ?? []
  return Number(year) > 0
    ? `${Number(year).toString().padStart(4, '0')}${rest}`
    : `${String(1 - Number(year)).padStart(4, '0')}${rest} BC`
}

test('Q22 to_string answers as PostgreSQL does', async t => {
  const client = new pg.Client({ connectionString: await serverUrl() })
  await client.connect()
  t.after(async () => {
    await client.end()
    await closeDatabases()
  })
  await client.query("SET TIME ZONE 'UTC'; SET lc_numeric = 'C'")
  const ask = async (sql: string, value: string, mask: string) => {
    try {
      const { rows } = await client.query<{ text: string }>(sql, [value, mask])
      return rows[0]?.text
    } catch (error) {
      assert.match((error as { code?: string }).code ?? '', /^(42601|22P02)$/, `${value} ${mask}: ${error}`)
      return undefined
    }
  }
  let refused = 0
  for (const [mask, number] of fc.sample(fc.tuple(maskOf(numberPatterns), decimals), runs(1_000, 100_000))) {
    const theirs = await ask('SELECT to_char($1::numeric, $2) AS text', number, mask)
    const reason = checkMask(mask, 'number')
    if (reason === undefined) assert.equal(toChar({ number }, mask), theirs, JSON.stringify([number, mask]))
    else if (!/^L |^TH /.test(reason)) assert.equal(theirs, undefined, `${mask}: ${reason}`)
    if (reason !== undefined) refused++
    else {
      const plain = await ask('SELECT to_char($1::numeric, $2) AS text', number, plainMask(mask, 'number'))
      assert.equal(plain, theirs, mask)
    }
  }
  assert.ok(refused < repeats(1_000, 100_000) * 0.7, `${refused} masks were refused`)
  for (const [mask, instant] of fc.sample(fc.tuple(maskOf(datePatterns), instants), runs(1_000, 100_000))) {
    const theirs = await ask('SELECT to_char($1::timestamptz, $2) AS text', forPostgres(instant), mask)
    if (checkMask(mask, 'instant') !== undefined) continue
    assert.equal(toChar({ instant }, mask), theirs, JSON.stringify([instant, mask]))
    // Statements ask in this form, which doesn't depend on the server's zone.
    const plain = await ask(
      "SELECT to_char($1::timestamptz AT TIME ZONE 'UTC', $2) AS text",
      forPostgres(instant),
      plainMask(mask, 'instant'),
    )
    assert.equal(plain, theirs, mask)
  }
})
