import assert from 'node:assert/strict'
import { administrator } from '../../support/clients/administrator.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const relation = (fields: unknown, entity: unknown, others: unknown) => ({
  relations: [{ fields, to: { entity, fields: others } }],
})

/** Bodies of PATCH, each with the wrong member and with further members of the problem. */
const patches: readonly (readonly [body: unknown, member: string, more?: object])[] = [
  [[], ''],
  ['text', ''],
  [null, ''],
  [{ reed: 'admin' }, '/reed', { nearest: 'read' }],
  [{ __proto__: 1, constructor: 1 }, '/constructor'],
  [{ key: 'id' }, '/key'],
  [{ records: 5 }, '/records'],
  [
    { read: 'all' },
    '/read',
    { legal: ['anonymous', 'eperson', 'admin', 'group:<name>', 'eperson:<e-mail address or UUID>'] },
  ],
  [{ read: 'epersn' }, '/read', { nearest: 'eperson' }],
  [{ read: null }, '/read'],
  [{ read: 5 }, '/read'],
  [{ read: 'group:' }, '/read'],
  [{ read: 'group:Curatrs' }, '/read', { nearest: 'Curators' }],
  [{ description: 5 }, '/description'],
  [{ description: '' }, '/description'],
  [{ description: 'x'.repeat(2_001) }, '/description'],
  [{ description: 'a\u0000b' }, '/description'],
  [{ description: 'a\u001bb' }, '/description'],
  [{ relations: {} }, '/relations'],
  [{ relations: [5] }, '/relations/0'],
  [{ relations: Array(101).fill({}) }, '/relations'],
  [{ relations: [{ fields: ['id'] }] }, '/relations/0/to'],
  [{ relations: [{ fields: ['id'], too: {} }] }, '/relations/0/too', { nearest: 'to' }],
  [relation(['id'], 'artist', ['id']), '/relations/0/to/entity', { nearest: 'artists' }],
  [relation(['id'], 'artworks', ['id']), '/relations/0/to/entity'],
  [relation(['artist_i'], 'artists', ['id']), '/relations/0/fields/0', { nearest: 'artist_id' }],
  [relation(['artist_id'], 'artists', ['di']), '/relations/0/to/fields/0', { nearest: 'id' }],
  [relation(['state'], 'artists', ['id']), '/relations/0/fields/0'],
  [relation(['id', 'artist_id'], 'artists', ['id']), '/relations/0'],
  [relation(['id', 'id'], 'artists', ['id', 'name']), '/relations/0/fields/1'],
  [relation([], 'artists', []), '/relations/0/fields'],
  [relation(['id'], 'prints', ['artwork']), '/relations/0'],
  [
    {
      relations: [
        ...relation(['id'], 'artists', ['id']).relations,
        ...relation(['artist_id'], 'artists', ['id']).relations,
      ],
    },
    '/relations/1',
  ],
  [{ defaultCondition: {} }, '/defaultCondition'],
  [{ defaultCondition: [] }, '/defaultCondition'],
  [{ defaultCondition: ['=', 'stat', 'x'] }, '/defaultCondition/1', { nearest: 'state' }],
  [{ defaultCondition: ['=', 'id', 'x'] }, '/defaultCondition/2'],
  [{ defaultCondition: ['?', 'id', 1] }, '/defaultCondition/0'],
  [{ defaultCondition: '["=","state"' }, '/defaultCondition'],
  [{ defaultCondition: 'stat = "x"' }, '/defaultCondition', { nearest: 'state', line: 1, column: 1 }],
  [{ defaultCondition: 'state = x' }, '/defaultCondition', { nearest: 'id', line: 1, column: 9 }],
  [{ defaultCondition: 'state = "x" limit 1' }, '/defaultCondition', { found: 'limit' }],
  [{ defaultCondition: '' }, '/defaultCondition'],
  [{ name: 'other' }, '/name'],
]

test('EA3 a PATCH that is wrong says in which member, and what would be right; nothing changes', async t => {
  const service = await startService(t)
  await service.addRecords('artists', 'id', [{ id: 1, name: 'Ruth' }])
  await service.addRecords('artworks', 'id', [{ id: 7, artist_id: 1, state: 'shown' }])
  await service.addRecords('prints', 'id', [{ id: 7, artwork: 7 }])
  await service.storage.people.ensureGroups(['Curators'])
  const root = await administrator(service)
  const related = await root.send('PATCH', '/prints', relation(['artwork'], 'artworks', ['id']))
  assert.equal(related.status, 200, JSON.stringify(related.body))
  const before = await root.send('GET', '/artworks')
  for (const [body, member, more = {}] of patches) {
    const { status, body: problem } = await root.send('PATCH', '/artworks', JSON.stringify(body))
    const said = JSON.stringify([body, problem])
    assert.equal(status, 422, said)
    assert.equal(problem.code, 'entity-refused', said)
    assert.equal(problem.member, member, said)
    for (const [name, value] of Object.entries(more)) assert.deepEqual(problem[name], value, said)
  }
  const after = await root.send('GET', '/artworks')
  assert.deepEqual(after.body, before.body)
})

test('EA2 a PUT that is wrong says in which member, and makes nothing', async t => {
  const service = await startService(t)
  await service.addRecords('known', 'id', [{ id: 7, name: 'x' }])
  const root = await administrator(service)
  const wrong: readonly (readonly [name: string, body: unknown, member: string])[] = [
    ['fresh', {}, '/key'],
    ['fresh', { key: 'id' }, '/fields'],
    ['fresh', { key: 'id', fields: [] }, '/fields'],
    ['fresh', { key: 'id', fields: ['id', 'id'] }, '/fields/1'],
    ['fresh', { key: 'id', fields: ['id', ''] }, '/fields/1'],
    ['fresh', { key: 'id', fields: [{ name: 'id', type: 'int' }] }, '/fields/0/type'],
    ['fresh', { key: 'id', fields: [{ nam: 'id' }] }, '/fields/0/nam'],
    ['fresh', { key: 'id', fields: [{ name: 'id', collation: 'nowhere-at-all' }] }, '/fields/0/collation'],
    ['fresh', { key: 'id', fields: [{ name: 'id', type: 'integer', collation: 'sv' }] }, '/key'],
    ['fresh', { key: 'id', fields: Array.from({ length: 1_901 }, (_, n) => `f${n}`) }, '/fields'],
    ['fresh', { key: 'nope', fields: ['id'] }, '/key'],
    ['fresh', { key: ['id', 'id'], fields: ['id'] }, '/key/1'],
    ['fresh', { key: 5, fields: ['id'] }, '/key'],
    ['fresh', { key: 'id', fields: [{ name: 'id', type: 'json' }] }, '/key'],
    ['fresh', { key: 'id', fields: ['id'], defaultCondition: ['=', 'x', 1] }, '/defaultCondition/1'],
    ['fresh', { key: 'id', fields: ['id'], colations: {} }, '/colations'],
    ['fresh', { table: 'public.things' }, '/table'],
    ['fresh', { table: { schema: 'public' } }, '/table/name'],
    ['known', { key: 'name' }, '/key'],
    ['known', { fields: ['id'] }, '/fields/1'],
    ['known', { fields: ['name', 'id'] }, '/fields/0'],
    ['known', { fields: [{ name: 'id', type: 'text' }, 'name'] }, '/fields/0'],
  ]
  for (const [name, body, member] of wrong) {
    const { status, body: problem } = await root.send('PUT', `/${name}`, body)
    const said = JSON.stringify([body, problem])
    assert.deepEqual([status, problem.code, problem.member], [422, 'entity-refused', member], said)
  }
  assert.equal((await root.send('GET', '/fresh')).status, 404)
})

test('EA2 EA3 a body that can’t be read is told apart: its media type, its JSON, its size, its depth', async t => {
  const service = await startService(t)
  await service.addRecords('known', 'id', [{ id: 7 }])
  const root = await administrator(service)
  for (const [body, headers, status, code] of [
    ['{}', { 'content-type': 'text/plain' }, 415, 'unsupported-media-type'],
    ['{}', { 'content-type': 'application/json-patch+json' }, 415, 'unsupported-media-type'],
    ['{"read":', {}, 400, 'bad-request'],
    ['', {}, 400, 'bad-request'],
    [Buffer.from([0x7b, 0xff, 0x7d]), {}, 400, 'bad-request'],
    [`{"description":"${'x'.repeat(300_000)}"}`, {}, 413, 'body-too-large'],
    [`{"relations":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, {}, 422, 'entity-refused'],
    [`{"defaultCondition":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, {}, 422, 'entity-refused'],
    [`{"x":${'{"a":'.repeat(30_000)}1${'}'.repeat(30_000)}}`, {}, 422, 'entity-refused'],
  ] as const) {
    const response = await root.client.request('/api/admin/entities/known', {
      method: 'PATCH',
      body,
      headers: {
        'content-type': 'application/json',
        'x-xsrf-token': (await root.client.csrfPair()).value,
        ...headers,
      },
    })
    const problem = (await response.json()) as { code: string }
    assert.deepEqual([response.status, problem.code], [status, code], String(body).slice(0, 40))
  }
})

test('EA3 a refusal says what would be right, and stays short whatever the body is', async t => {
  const service = await startService(t)
  await service.addRecords('known', 'id', [{ id: 7 }])
  const root = await administrator(service)
  const long = 'x'.repeat(100_000)
  for (const [body, detail] of [
    ['{"reed":"admin"}', 'reed is unknown; did you mean read?'],
    ['{"description":["hunter2"]}', 'description must be a text or null, not an array.'],
    ['{"relations":[{"fields":["id"],"to":{"entity":5}}]}', 'relations/0/to/fields is missing.'],
    ['{"read":"admin","read":5}', 'read must be a text, not a number.'],
    ['{"__proto__":{"read":"admin"}}', /^__proto__ is unknown; known are name, read, /],
    [`{"${long}":1}`, /^x{200} is unknown; known are /],
    ['{"a\\u0000b":1}', /^"a\\u0000b" is unknown; known are /],
    [`{"relations":[${'{},'.repeat(80_000)}{}]}`, 'relations must have at most 100 elements, not 80,001.'],
    [`{"collations":{"${long}":5}}`, /^collations\/x{200} must be a text or null, not a number\.$/],
    [
      `{"relations":[{"fields":["id"],"to":${'{"to":'.repeat(20_000)}1${'}'.repeat(20_000)}}]}`,
      /^relations\/0\/to\/to is unknown; known are entity, fields\.$/,
    ],
  ] as const) {
    const { status, body: problem } = await root.send('PATCH', '/known', body)
    assert.deepEqual([status, problem.code], [422, 'entity-refused'], problem.detail)
    if (typeof detail === 'string') assert.equal(problem.detail, detail)
    else assert.match(problem.detail, detail)
    assert.ok(JSON.stringify(problem).length < 2_000, problem.detail)
  }
  assert.equal(({} as { read?: string }).read, undefined)
})
