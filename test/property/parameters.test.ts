import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { listPath, problemOf, queryPath } from '../support/clients/listings.ts'
import { exchange, head } from '../support/clients/raw.ts'
import { anyString } from '../support/data/arbitrary-records.ts'
import { runs } from '../support/scale.ts'
import { engines } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'

/**
 * Whatever a client sends, valid requests are answered, all others are refused with the reason, and there is
 * no 5xx.
 */
for (const engine of engines)
  describe(`parameters on ${engine}`, () => {
    // A refused request never reaches the store, so one engine gets all requests and the other only some.
    const some = (count: number) => runs(Math.ceil(count / 8), engine === 'sqlite' ? count : count / 4)

    test('Q7 any order_by is an order or a 400 that says where it is wrong', async t => {
      const service = await withThings(t, engine)
      await fc.assert(
        fc.asyncProperty(orderText, async text => {
          const response = await get(service, 'order_by', text)
          if (isOrder(text)) return void (await assertOk(response))
          const problem = await problemOf(response, 400)
          assert.equal(problem.parameter, 'order_by')
          assert.equal(problem.value, text)
          assert.ok(Number.isInteger(problem.position), 'there is a position')
          assert.ok((problem.position ?? -1) >= 0 && (problem.position ?? 0) <= text.length)
        }),
        some(800),
      )
    })

    test('Q7 any limit and offset is a whole number in its range or a 400', async t => {
      const service = await withThings(t, engine)
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(['limit', 1n] as const, ['offset', 0n] as const),
          numberText,
          async ([parameter, least], text) => {
            const response = await get(service, parameter, text)
            if (/^[0-9]+$/.test(text) && BigInt(text) >= least && BigInt(text) <= 2n ** 53n - 1n)
              return void (await assertOk(response))
            const problem = await problemOf(response, 400)
            assert.deepEqual([problem.parameter, problem.value], [parameter, text])
          },
        ),
        some(500),
      )
    })

    test('Q7 any include_total is true or false in any case, or a 400', async t => {
      const service = await withThings(t, engine)
      const texts = fc.oneof(
        fc.mixedCase(fc.constantFrom('true', 'false')),
        anyString(5),
        fc.constantFrom('', '0', '1', 'yes', 'true ', ' true', 'true\n', 'truе', 'TRUE\0', 'fal\u017fe'),
      )
      await fc.assert(
        fc.asyncProperty(texts, async text => {
          const response = await get(service, 'include_total', text)
          if (['true', 'false'].includes(asciiLowerCase(text))) return void (await assertOk(response))
          const problem = await problemOf(response, 400)
          assert.deepEqual([problem.parameter, problem.value], ['include_total', text])
          assert.deepEqual(problem.legal, ['true', 'false'])
        }),
        some(200),
      )
    })

    test('Q7 any other name of a parameter is a 400 that lists the known ones', async t => {
      const service = await withThings(t, engine)
      const names = fc.oneof(
        anyString(10),
        fc.constantFrom(
          'Limit',
          'limit ',
          'order-by',
          'Query',
          '__proto__',
          'constructor',
          'order_by[]',
          'hasOwnProperty',
        ),
      )
      await fc.assert(
        fc.asyncProperty(
          names.filter(name => !known.includes(name)),
          async name => {
            const problem = await problemOf(await get(service, name, '1'), 400)
            assert.equal(problem.parameter, name)
            assert.deepEqual(problem.legal, known.slice(0, -1))
          },
        ),
        some(200),
      )
    })

    test('Q7 E2 arbitrary bytes in any parameter are never a 5xx', async t => {
      const service = await withThings(t, engine)
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.constantFrom(...known, ''), bytes), { minLength: 1, maxLength: 4 }),
          async pairs => {
            const query = pairs.map(([name, value]) => `${name}=${percent(value)}`).join('&')
            const response = await fetch(`${service.address}${listPath('things')}?${query}`)
            await response.arrayBuffer()
            assert.ok([200, 400].includes(response.status), `${response.status} for ${query}`)
          },
        ),
        some(300),
      )
    })

    test('Q7 Q8 E2 arbitrary bytes in the request line are never a 5xx', async t => {
      const service = await withThings(t, engine)
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom('/', '/things?', '/things?limit=', '/things?order_by=', '/things/'),
          bytes,
          async (start, end) => {
            const target = Buffer.concat([Buffer.from(`${queryPath}${start}`), Buffer.from(end)])
            const request = head(`GET ${target.toString('latin1').replaceAll(/[\r\n]/g, '')} HTTP/1.1`)
            const answer = await exchange(service.address, Buffer.from(request, 'latin1'))
            assert.ok(answer, 'there is an answer')
            assert.ok(answer.status < 500, `${answer.status} for ${request}`)
          },
        ),
        some(300),
      )
    })
  })

const known = [
  'query',
  'order_by',
  'limit',
  'offset',
  'include_total',
  'pretty',
  'explain',
  'timeout',
  'snapshot',
  'origin',
  'authentication-token',
]
const fields = ['id', 'a b', '', '__proto__', 'ä']

async function withThings(
  t: Parameters<typeof startService>[0],
  engine: (typeof engines)[number],
): Promise<Service> {
  const service = await startService(t, { engine })
  const record = (id: number) => Object.fromEntries(fields.map(name => [name, name === 'id' ? id : 'x']))
  await service.addRecords('things', 'id', [record(1), record(2)])
  return service
}

const get = (service: Service, name: string, value: string) =>
  fetch(
    `${service.address}${listPath('things')}?${percent(Buffer.from(name))}=${percent(Buffer.from(value))}`,
  )

async function assertOk(response: Response): Promise<void> {
  const text = await response.text()
  assert.equal(response.status, 200, text)
  assert.ok(Array.isArray(JSON.parse(text)))
}

/** Encodes every byte as %XX, so that nothing on the way changes it. */
const percent = (value: Uint8Array) =>
  [...value].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')

const asciiLowerCase = (text: string) => text.replaceAll(/[A-Z]/g, letter => letter.toLowerCase())

/** Implements Q2 and Q7 a second time, with the platform's JSON. */
function isOrder(text: string): boolean {
  if (text === '') return true
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return false
  }
  return (
    Array.isArray(value) &&
    value.every((entry: unknown) => {
      if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return false
      const members = new Map<string, unknown>(Object.entries(entry))
      const field = members.get('field')
      const order = members.get('order') ?? 'asc'
      return (
        [...members.keys()].every(name => name === 'field' || name === 'order') &&
        typeof field === 'string' &&
        fields.includes(field) &&
        typeof order === 'string' &&
        ['asc', 'desc'].includes(asciiLowerCase(order))
      )
    })
  )
}

const bytes = fc.uint8Array({ maxLength: 24 })

const entry = fc.oneof(
  { arbitrary: fc.record({ field: fc.constantFrom(...fields) }), weight: 3 },
  {
    arbitrary: fc.record({
      field: fc.constantFrom(...fields),
      order: fc.mixedCase(fc.constantFrom('asc', 'desc')),
    }),
    weight: 3,
  },
  {
    arbitrary: fc.record(
      {
        field: fc.oneof(fc.constantFrom(...fields, 'Id', 'idd'), fc.jsonValue({ maxDepth: 1 })),
        order: fc.oneof(fc.constantFrom('asc', 'desc', 'up', 'deſc', ''), fc.jsonValue({ maxDepth: 1 })),
        fields: fc.constant(1),
      },
      { requiredKeys: [] },
    ),
    weight: 2,
  },
  { arbitrary: fc.jsonValue({ maxDepth: 2 }), weight: 1 },
)

const validText = fc.oneof(fc.array(entry, { maxLength: 3 }), entry).map(value => JSON.stringify(value))

/** JSON that is valid, invalid, or valid except in one place, and short enough to be repeated as a whole. */
const orderText = fc
  .oneof(
    { arbitrary: validText, weight: 4 },
    {
      arbitrary: fc
        .tuple(
          validText,
          fc.nat(),
          fc.nat({ max: 2 }),
          fc.constantFrom('', ',', '"', '\\', '}', ']', '[', '\0', ' ', '/**/', 'é', '1', '\ufeff'),
        )
        .map(([text, place, removed, added]) => {
          const at = place % (text.length + 1)
          return text.slice(0, at) + added + text.slice(at + removed)
        })
        .map(text => text.toWellFormed()),
      weight: 4,
    },
    { arbitrary: anyString(20), weight: 1 },
  )
  .filter(text => text.length <= 200)

const numberText = fc.oneof(
  fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }).map(String),
  fc.integer({ min: -2, max: 30 }).map(String),
  fc.double().map(String),
  anyString(6),
  fc.constantFrom(
    '',
    '1.0',
    '1e1',
    '+1',
    ' 1',
    '1 ',
    '0x10',
    '1_000',
    '１',
    '٣',
    '1\n',
    'NaN',
    'Infinity',
    '-0',
    '00',
    '007',
  ),
)
