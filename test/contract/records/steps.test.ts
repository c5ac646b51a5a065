import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Administrator, administrator } from '../../support/clients/administrator.ts'
import { withoutRequestId } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { list } from '../../support/clients/listings.ts'
import { changeText, importText } from '../../support/data/imports.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const base = '/api/query/v4'
const mergePatch = 'application/merge-patch+json'
const jsonPatch = 'application/json-patch+json'

/** Records that are written in steps: defaults, and constraints between records (R14). */
async function started(t: TestContext) {
  const service = await startService(t)
  const root = await administrator(service)
  return { service, root, client: root.client }
}

async function declare(root: Administrator, name: string, change: object): Promise<void> {
  const answer = await root.send('PATCH', `/${name}`, change)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

/** An answer of any shape; each test asserts what it expects. */
// biome-ignore lint/suspicious/noExplicitAny: what a test expects, it asserts.
type Body = any

async function send(
  client: Client,
  method: string,
  path: string,
  body?: unknown,
  type = method === 'PATCH' ? mergePatch : 'application/json',
): Promise<Body> {
  const response = await client.request(`${base}/${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': type } }),
  })
  const text = await response.text()
  const tag = response.headers.get('etag')
  return { status: response.status, tag, body: text === '' ? null : JSON.parse(text), text }
}

const together = (client: Client, entity: string, records: unknown, asked = '') =>
  send(client, 'PATCH', entity + asked, { records }, 'application/json')

const textOf = async (client: Client, path: string) => (await client.get(`${base}/${path}`)).text()

const notes = [
  { id: 'd', n: 4, note: null, seen: null },
  { id: 'e', n: 4 },
]

async function withDefaults(t: TestContext) {
  const { service, root, client } = await started(t)
  await service.addRecords('u', 'id', [...notes, { id: 'f', n: 9, note: 'given', seen: true }])
  const fields = { note: { default: 'none' }, seen: { default: false } }
  await declare(root, 'u', { write: 'admin', fields })
  return { service, root, client }
}

test('R14 a change of a record gives no default to a field that it does not touch', async t => {
  const { client } = await withDefaults(t)
  const now = async () =>
    (await list<Body>(client, 'u')).map(({ note, seen }) => [note ?? null, seen ?? null])
  const before = [
    [null, null],
    [null, null],
    ['given', true],
  ]
  const query = `u?query=${encodeURIComponent('["=", "n", 5]')}`
  for (const change of [
    () => send(client, 'PATCH', 'u/d', { n: 5 }),
    () => send(client, 'PATCH', 'u/e', [{ op: 'replace', path: '/n', value: 5 }], jsonPatch),
    () => send(client, 'PATCH', query, { n: 6 }),
    () => together(client, 'u', [{ key: 'd', patch: { n: 7 } }]),
    () => together(client, 'u', [{ key: 'e', record: { id: 'e', n: 7 } }]),
    () => send(client, 'PUT', 'u/d', { n: 8 }),
  ]) {
    const { status, body } = await change()
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(await now(), before)
  }
})

test('R14 a new record gets the defaults of the fields that it does not have', async t => {
  const { client } = await withDefaults(t)
  const bare = await send(client, 'PUT', 'u/g', { n: 1 })
  assert.deepEqual([bare.status, bare.body.note, bare.body.seen], [201, 'none', false])
  // Null is a value that was given (RFC 7396).
  const given = await send(client, 'PUT', 'u/h', { n: 1, note: null, seen: true })
  assert.deepEqual([given.status, given.body.note, given.body.seen], [201, null, true])
  const several = await together(client, 'u', [{ key: 'i', etag: null, record: { n: 1 } }])
  assert.equal(several.body.records[0].after.note, 'none')
  for (const defaults of ['no', null, 0])
    assert.equal((await together(client, 'u', [{ key: 'j', record: { n: 1 }, defaults }])).status, 422)
})

test('R12 R14 an undo gives back each record as it was, byte by byte', async t => {
  const { client } = await withDefaults(t)
  const all = async () => Promise.all(['u/d', 'u/e', 'u/f'].map(path => textOf(client, path)))
  const before = await all()
  const query = encodeURIComponent('["null?", "id", false]')
  for (const [method, body] of [
    ['PATCH', { n: 7 }],
    ['DELETE', undefined],
  ] as const) {
    const done = await send(client, method, `u?query=${query}&undo=true`, body)
    assert.equal(done.body.changed, 3, done.text)
    const undone = await send(client, 'PATCH', 'u', done.body.undo, 'application/json')
    assert.equal(undone.status, 200, undone.text)
    assert.deepEqual(await all(), before)
  }
})

test('D17 an update by file gives defaults to new records only, and an empty cell stays empty', async t => {
  const { service, client } = await withDefaults(t)
  const change = { entity: 'u', kind: 'update' } as const
  await changeText(service, 'id,n\nd,5\nx,1\n', { ...change, file: 'changes.csv' })
  await changeText(service, 'id,n,note\ne,5,\ny,1,\n', { ...change, file: 'changes.csv' })
  const found = (await list<Body>(client, 'u')).map(({ id, n, note, seen }) => [
    id,
    n,
    note ?? null,
    seen ?? null,
  ])
  assert.deepEqual(found, [
    ['d', 5, null, null],
    ['e', 5, null, null],
    ['f', 9, 'given', true],
    ['x', 1, 'none', false],
    ['y', 1, null, false],
  ])
})

test('D17 a file of all records that was downloaded before comes back as it was', async t => {
  const { service, client } = await withDefaults(t)
  const all = async () =>
    (await list<Body>(client, 'u')).map(({ id, n, note, seen }) => [id, n, note ?? null, seen ?? null])
  const before = await all()
  const csv = await (await client.get(`${base}/u`, { accept: 'text/csv' })).text()
  await importText(service, csv, { entity: 'u', key: 'id', file: 'records.csv' })
  assert.deepEqual(await all(), before)
})

async function withCodes(t: TestContext) {
  const { service, root, client } = await started(t)
  await service.addRecords('codes', 'id', [
    { id: 'a', code: 'X1' },
    { id: 'b', code: 'X2' },
    { id: 'c', code: 'X3' },
  ])
  await declare(root, 'codes', { write: 'admin', fields: { code: { unique: true } } })
  const codes = async () =>
    (await list<Body>(client, 'codes')).map(({ id, code }) => `${id}:${code ?? null}`).join()
  return { service, client, codes }
}

test('R12 R14 unique values are those after the step, whatever its order is', async t => {
  const { client, codes } = await withCodes(t)
  const set = (values: Readonly<Record<string, string | null>>) =>
    together(
      client,
      'codes',
      Object.entries(values).map(([key, code]) => ({ key, patch: { code } })),
    )
  for (const [values, after] of [
    [{ a: 'X2', b: 'X1' }, 'a:X2,b:X1,c:X3'],
    [{ a: 'X1', b: 'X3', c: 'X2' }, 'a:X1,b:X3,c:X2'],
    [{ a: null, b: 'X1', c: 'X3' }, 'a:null,b:X1,c:X3'],
  ] as const) {
    const { status, text } = await set(values)
    assert.equal(status, 200, text)
    assert.equal(await codes(), after)
  }
  // A record that goes leaves its value to one that comes.
  const moved = await together(client, 'codes', [
    { key: 'd', record: { code: 'X1' } },
    { key: 'b', record: null },
  ])
  assert.equal(moved.status, 200, moved.text)
  for (const values of [
    { a: 'X9', c: 'X9' },
    { a: 'X1' },
    // The record whose value is taken changes nothing of it.
    { a: 'X3', d: 'X1' },
  ]) {
    const { status, body } = await set(values)
    assert.equal(status, 422, JSON.stringify(body))
    assert.match(body.detail, /is unique, and the record \w has the value "X\d" already/)
    assert.equal(body.pointer, '/code')
    assert.equal(await codes(), 'a:null,c:X3,d:X1')
  }
})

async function withTree(t: TestContext) {
  const { service, root, client } = await started(t)
  await service.addRecords('tree', 'id', [
    { id: 'r', parent: null, n: 1 },
    { id: 's', parent: 'r', n: 2 },
    { id: 't', parent: 's', n: 2 },
  ])
  await declare(root, 'tree', { write: 'admin', fields: { parent: { references: 'tree' } } })
  const keys = async () => (await list<Body>(client, 'tree')).map(({ id }) => id).join('')
  return { client, keys }
}

test('R12 R14 references hold after the step, whatever its order is', async t => {
  const { client, keys } = await withTree(t)
  const chain = [
    { key: 'x', record: { parent: 'y' } },
    { key: 'y', record: { parent: 'r' } },
  ]
  for (const records of [chain, chain.toReversed()]) {
    const made = await together(client, 'tree', records)
    assert.equal(made.status, 200, made.text)
    assert.equal(await keys(), 'rstxy')
    const gone = await together(
      client,
      'tree',
      records.map(({ key }) => ({ key, record: null })),
    )
    assert.equal(gone.status, 200, gone.text)
  }
  const query = encodeURIComponent('["=", "n", 2]')
  const removed = await send(client, 'DELETE', `tree?query=${query}&undo=true`)
  assert.equal(removed.status, 200, removed.text)
  assert.equal(await keys(), 'r')
  assert.equal((await send(client, 'PATCH', 'tree', removed.body.undo, 'application/json')).status, 200)
  // A child may leave its parent in the step in which the parent goes.
  const left = await together(client, 'tree', [
    { key: 's', record: null },
    { key: 't', patch: { parent: 'r' } },
  ])
  assert.equal(left.status, 200, left.text)
  assert.equal(await keys(), 'rt')
})

test('R12 R14 a step that would leave a reference to nothing is refused, and changes nothing', async t => {
  const { client, keys } = await withTree(t)
  for (const [status, records] of [
    [409, [{ key: 'r', record: null }]],
    [
      409,
      [
        { key: 'r', record: null },
        { key: 's', patch: { n: 3 } },
      ],
    ],
    [
      422,
      [
        { key: 't', record: null },
        { key: 'r', patch: { parent: 't' } },
      ],
    ],
    [422, [{ key: 'z', record: { parent: 'gone' } }]],
  ] as const) {
    const refused = await together(client, 'tree', records)
    assert.equal(refused.status, status, refused.text)
    assert.equal(await keys(), 'rst')
  }
})

test('R14 of two steps at once that swap and take the same values, no value is there twice', async t => {
  const { client, codes } = await withCodes(t)
  for (let round = 0; round < 8; round++) {
    const [a, b, c] = (await codes()).split(',').map(one => one.slice(2))
    const steps = [
      { a: b, b: a },
      { b: c, c: b },
      { c: a, a: c },
    ]
    const answers = await Promise.all(
      steps.map(step =>
        together(
          client,
          'codes',
          Object.entries(step).map(([key, code]) => ({ key, patch: { code } })),
        ),
      ),
    )
    for (const { status, text } of answers) assert.ok([200, 422].includes(status), text)
    const now = (await codes()).split(',').map(one => one.slice(2))
    assert.deepEqual(now.toSorted(), ['X1', 'X2', 'X3'])
  }
})

test('R14 a reference to an entity that the caller may not read tells neither its name nor its keys, and guesses are in the trail', async t => {
  const { service, root, client } = await started(t)
  await service.addEperson(ruthEmail, { groups: ['Writers'] })
  await importText(service, '{"id":40}\n{"id":41}\n', { entity: 'adm', key: 'id', read: 'admin' })
  await service.addRecords('pub', 'id', [
    { id: 6, ref: 40 },
    { id: 7, ref: null },
  ])
  await declare(root, 'pub', { write: 'group:Writers', fields: { ref: { references: 'adm' } } })
  const writer = await service.loggedIn(ruthEmail)
  const detail =
    'The field "ref" of pub references records of another entity, and none has the key 39. Those who may read that entity know the keys.'
  const wrong = await send(writer, 'PATCH', 'pub/7', { ref: 39 })
  assert.deepEqual([wrong.status, wrong.body.detail], [422, detail])
  assert.doesNotMatch(withoutRequestId(wrong.text), /adm|40|41/)
  const tried = (ref: number) => together(writer, 'pub', [{ key: '7', patch: { ref } }], '?dry_run=true')
  const dry = await tried(39)
  assert.equal(dry.status, 422)
  assert.doesNotMatch(withoutRequestId(dry.text), /adm|40|41/)
  assert.equal((await tried(41)).status, 200)
  // A reader sees nothing of the guesses in the history of the record.
  assert.deepEqual((await send(writer, 'GET', 'pub/7?history=true')).body, [])
  assert.equal((await send(writer, 'PATCH', 'pub/7', { ref: 40 })).status, 200)
  // An administrator may read both, and is told.
  assert.match((await send(client, 'PATCH', 'pub/7', { ref: 39 })).body.detail, /references adm, .* 39\.$/)
  const order = encodeURIComponent('[{"field":"id"}]')
  const query = encodeURIComponent('["=", "event", "record.change"]')
  const events: Body[] = (await send(client, 'GET', `audit-events?order_by=${order}&query=${query}`)).body
  assert.deepEqual(
    events.map(({ outcome, object, count, changes }) => [outcome, object, count, changes?.after]),
    [
      // The second one is counted (D9).
      ['failure', 'pub/7', 1, { keys: ['7 ref: 39'] }],
      ['failure', 'pub/7', 1, { keys: ['7 ref: 41'] }],
      ['success', 'pub/7', 1, { ref: 40 }],
    ],
  )
})

test('R14 guesses can be hidden neither behind others in a step nor behind those that came before', async t => {
  const { service, root, client } = await started(t)
  await service.addEperson(ruthEmail, { groups: ['Writers'] })
  await importText(service, '{"id":40}\n{"id":777}\n', { entity: 'adm', key: 'id', read: 'admin' })
  await service.addRecords('pub', 'id', [{ id: 6, ref: 40 }])
  await declare(root, 'pub', { write: 'group:Writers', fields: { ref: { references: 'adm' } } })
  const writer = await service.loggedIn(ruthEmail)
  for (const last of [776, 777]) {
    const padding = Array.from({ length: 40 }, (_, n) => ({ key: `${100 + n}`, record: { ref: 40 } }))
    const records = [...padding, { key: '999', record: { ref: last } }]
    const { status } = await together(writer, 'pub', records, '?dry_run=true')
    assert.equal(status, last === 777 ? 200 : 422)
  }
  // Many at once differ from each other, whatever the first ones are.
  const many = (last: number) =>
    Array.from({ length: 50 }, (_, n) => ({
      key: `${200 + n}`,
      record: { ref: n === 49 ? last : 1_000 + n },
    }))
  for (const last of [2_001, 2_002]) await together(writer, 'pub', many(last))
  const query = encodeURIComponent('["=", "event", "record.change"]')
  const order = encodeURIComponent('[{"field":"id"}]')
  const events: Body[] = (await send(client, 'GET', `audit-events?query=${query}&order_by=${order}`)).body
  const guesses = events.map(({ changes }) => changes.after)
  assert.deepEqual(
    guesses.slice(0, 2).map(({ keys }) => keys),
    [776, 777].map(last => ['100 ref: 40', `999 ref: ${last}`]),
  )
  assert.equal(guesses.length, 4)
  assert.match(guesses[2].all, /^50, /)
  assert.notEqual(guesses[2].all, guesses[3].all)
})

test('R12 R14 a step of thousands of records that reference one another or have long keys is checked whole', async t => {
  const { service, root, client } = await started(t)
  const all = Array.from({ length: 3_000 }, (_, n) => ({ id: n, p: 5 }))
  await service.addRecords('many', 'id', all)
  const long = (n: number) => `${n}${'k'.repeat(30_000)}`
  await service.addRecords(
    'long',
    'id',
    Array.from({ length: 11 }, (_, n) => ({ id: long(n), to: 7 })),
  )
  await declare(root, 'many', { write: 'admin', fields: { p: { references: 'many' } } })
  await declare(root, 'long', { fields: { to: { references: 'many' } } })
  const query = (text: string) => `many?query=${encodeURIComponent(text)}`
  const kept = await send(client, 'DELETE', query('["<", "id", 1100]'))
  assert.equal(kept.status, 409, kept.text)
  assert.match(kept.body.detail, /^The record "(5|7)": /)
  const byLong = await send(client, 'DELETE', 'many/7')
  assert.deepEqual([byLong.status, byLong.body.referenced.keys.length], [409, 10])
  for (const to of [2_999, null]) await service.addRecords('long', 'id', [{ id: 'x', to }])
  assert.equal((await send(client, 'DELETE', query('["<", "id", 100000]'))).body.changed, 3_000)
})

test('R14 a step relies on what it saw: of one that adds a value and one that takes it, one is made', async t => {
  const { client, codes } = await withCodes(t)
  for (let round = 0; round < 6; round++) {
    const steps = ['x', 'y', 'z'].map(name =>
      together(client, 'codes', [
        { key: `${name}${round}`, record: { code: `N${round}` } },
        { key: `${name}other${round}`, record: { code: null } },
      ]),
    )
    const statuses = (await Promise.all(steps)).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, 422, 422])
  }
  assert.equal((await codes()).match(/:N\d/g)?.length, 6)
})

test('R14 a step relies on what it saw: a record is referenced, or deleted with its children', async t => {
  const { client } = await withTree(t)
  for (let round = 0; round < 12; round++) {
    const [parent, child, third] = [`p${round}`, `c${round}`, `d${round}`]
    const made = await together(client, 'tree', [
      { key: parent, record: { n: 9 } },
      { key: child, record: { parent } },
      { key: third, record: { n: 9 } },
    ])
    assert.equal(made.status, 200, made.text)
    const [gone, referenced] = await Promise.all([
      together(client, 'tree', [
        { key: parent, record: null },
        { key: child, record: null },
      ]),
      send(client, 'PATCH', `tree/${third}`, { parent: child }),
    ])
    assert.deepEqual(
      [gone.status, referenced.status].toSorted(),
      gone.status === 200 ? [200, 422] : [200, 409],
    )
  }
})

test('R10 a query without a condition of its own never means all records', async t => {
  const { service, root, client } = await started(t)
  await service.addRecords('all', 'id', [{ id: 1, n: 1 }])
  await declare(root, 'all', { write: 'admin', defaultCondition: 'n = 1' })
  for (const query of [
    'all{}',
    'all[]{}',
    '["from","all"]',
    '["extract",[]]',
    '["from","all",["order_by",["id"]]]',
    '[]',
    '[\n]',
  ])
    for (const method of ['DELETE', 'PATCH'] as const) {
      const answer = await send(
        client,
        method,
        `all?query=${encodeURIComponent(query)}`,
        method === 'PATCH' ? { n: 2 } : undefined,
      )
      assert.deepEqual([answer.status, answer.body.code], [400, 'bad-parameter'], `${method} ${query}`)
    }
  assert.equal((await send(client, 'DELETE', 'all?query=["null?","id",false]')).body.changed, 1)
})

test('R14 a message quotes each value once', async t => {
  const { client } = await withCodes(t)
  const taken = await send(client, 'PATCH', 'codes/a', { code: 'X2' })
  assert.equal(
    taken.body.detail,
    'The field "code" of codes is unique, and the record b has the value "X2" already.',
  )
  const key = await send(client, 'PUT', 'codes/z', { id: 'y' })
  assert.equal(key.status, 422)
})
