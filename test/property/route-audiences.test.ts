import assert from 'node:assert/strict'
import {
  type Answer,
  type Asking,
  ask,
  type Caller,
  campus,
  carryOut,
  entityNames,
  groupNames,
  isOutside,
  mayRead,
  mayWrite,
  type Plan,
  recordsOf,
  ruleOf,
  secretOf,
  somePlans,
  startWorld,
  type World,
} from '../support/data/route-callers.ts'
import { isLong } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'

const json = { 'content-type': 'application/json' }
const mergePatch = { 'content-type': 'application/merge-patch+json' }

/**
 * Keys of records. Callers without the right must get the same answer for each of them, however they read or
 * write.
 */
const keys = ['1', '99', ...(isLong ? ['not a number', '1,2'] : [])]
const readings: readonly Asking[] = [
  {},
  { method: 'HEAD' },
  { headers: { 'if-none-match': '*' } },
  { headers: { 'if-match': '"x"' } },
]
const allWritings: readonly Asking[] = [
  { method: 'PUT', headers: json, body: '{' },
  { method: 'PUT', headers: json, body: '{"unknown": 1}' },
  { method: 'PUT', headers: { ...json, 'if-none-match': '*' }, body: '{"unknown": 1}' },
  { method: 'PATCH', headers: mergePatch, body: '{"ref": "x"}' },
  { method: 'PATCH', headers: { ...mergePatch, 'if-match': '"x"' }, body: '[]' },
  { method: 'DELETE' },
  { method: 'DELETE', headers: { 'if-match': '"x"' } },
]
/** The requests that write; in CI, one of each kind. */
const writings = allWritings.filter((_, at) => isLong || at % 2 === 0)

/** Returns the parts of an answer that differ between answers. */
const told = ({ status, body, headers }: Answer, key: string) =>
  JSON.stringify([
    status,
    body.replaceAll(`/${encodeURIComponent(key)}"`, '/<key>"'),
    ...['etag', 'x-records', 'link', 'location', 'allow', 'www-authenticate', 'accept-patch'].map(name =>
      headers.get(name),
    ),
  ])

async function checkRecords(world: World, plan: Plan, caller: Caller): Promise<void> {
  for (const entity of entityNames) {
    const path = `/api/query/v4/${entity}`
    const what = `${caller.name}: ${entity} ${JSON.stringify(ruleOf(plan, entity))}`
    const refused = (method: string): readonly [number, string] | null => {
      if (isOutside(caller, method, 'query', entity)) return [403, 'access-token-refused']
      const isReading = method === 'GET' || method === 'HEAD'
      if (!isReading && caller.person === null) return [401, 'authentication-required']
      if (!mayRead(plan, caller, entity))
        return caller.person === null ? [401, 'authentication-required'] : [403, 'access-denied']
      return isReading || mayWrite(plan, caller, entity) ? null : [403, 'not-writable']
    }
    const list = await ask(world, caller, `${path}?include_total=true`)
    const closed = refused('GET')
    if (closed) assert.deepEqual([list.status, list.code], closed, what)
    else assert.deepEqual(JSON.parse(list.body), recordsOf(entity), what)
    assert.equal(list.headers.get('x-records'), closed ? null : '2', what)
    for (const asking of [...readings, ...writings]) {
      const { method = 'GET' } = asking
      const expected = refused(method)
      // This request would delete the record; a new one is deleted below.
      if (!expected && method === 'DELETE' && !asking.headers) continue
      const answers = await Promise.all(
        keys.map(key => ask(world, caller, `${path}/${encodeURIComponent(key)}`, asking)),
      )
      const about = `${what} ${JSON.stringify(asking)}`
      if (expected) {
        for (const [at, answer] of answers.entries()) {
          assert.equal(answer.status, expected[0], `${about}: ${answer.body}`)
          if (method !== 'HEAD') assert.equal(answer.code, expected[1], about)
          assert.equal(told(answer, keys[at] ?? ''), told(answers[0] as Answer, keys[0] ?? ''), about)
        }
        continue
      }
      for (const answer of answers)
        assert.ok(![401, 403].includes(answer.status), `${about}: ${answer.status} ${answer.body}`)
      if (asking === readings[0]) {
        assert.deepEqual(JSON.parse(answers[0]?.body ?? ''), recordsOf(entity)[0], about)
        assert.deepEqual(
          answers.map(({ status }) => status),
          keys.map((_, at) => (at === 0 ? 200 : 404)),
          about,
        )
      }
    }
    if (refused('PUT') === null) await writeOne(world, caller, path, what)
    if (!closed) await checkRelated(world, plan, caller, entity)
  }
}

/** Writes a new record and deletes it. */
async function writeOne(world: World, caller: Caller, path: string, what: string): Promise<void> {
  const [record, key] = [JSON.stringify({ id: 7, secret: 'x', ref: null }), `${path}/7`]
  const made = await ask(world, caller, key, { method: 'PUT', headers: json, body: record })
  assert.equal(made.status, 201, `${what}: ${made.body}`)
  const changed = await ask(world, caller, key, { method: 'PATCH', headers: mergePatch, body: '{"ref": 2}' })
  assert.deepEqual([changed.status, JSON.parse(changed.body).ref], [200, 2], what)
  assert.equal((await ask(world, caller, key, { method: 'DELETE' })).status, 204, what)
}

/** Checks related records, which belong to another entity. */
async function checkRelated(world: World, plan: Plan, caller: Caller, entity: string): Promise<void> {
  for (const other of entityNames) {
    if (other === entity) continue
    const answer = await ask(world, caller, `/api/query/v4/${entity}/1/${other}`)
    const what = `${caller.name}: ${entity}/1/${other}: ${answer.body}`
    if (!mayRead(plan, caller, other)) assert.equal(answer.status, caller.person === null ? 401 : 403, what)
    else assert.ok([200, 404].includes(answer.status), what)
    assertSilent(plan, caller, answer, [entity, other], what)
  }
}

/**
 * Asserts that an answer has no records or names of entities that the caller may not read, except those in
 * the request.
 */
function assertSilent(
  plan: Plan,
  caller: Caller,
  answer: Answer,
  asked: readonly string[],
  what: string,
): void {
  const text = `${answer.body}\n${[...answer.headers].join('\n')}`
  for (const entity of entityNames) {
    if (mayRead(plan, caller, entity)) continue
    assert.ok(!text.includes(secretOf(entity)), what)
    if (!asked.includes(entity)) assert.ok(!new RegExp(`\\b${entity}\\b`).test(text), `${entity} in ${what}`)
  }
  if (caller.isAdministrator) return
  for (const name of [...groupNames, campus]) assert.ok(!text.includes(name), `${name} in ${what}`)
}

async function checkDescriptions(world: World, plan: Plan, caller: Caller): Promise<void> {
  const { status, code, body, headers } = await ask(world, caller, '/api/query/v4')
  const what = `${caller.name}: ${body}`
  if (isOutside(caller, 'GET', 'query')) {
    assert.deepEqual([status, code], [403, 'access-token-refused'], what)
    return
  }
  const builtIn = caller.isAdministrator
    ? ['audit-events', 'bitstreams', 'epersons', 'groups', 'items']
    : [...(caller.person === null ? [] : ['audit-events']), 'bitstreams', 'items']
  const readable = entityNames.filter(name => mayRead(plan, caller, name))
  const described = JSON.parse(body) as {
    name: string
    writable?: boolean
    relations?: { entity: string; to?: { entity: string } }[]
  }[]
  const seen = described.map(({ name }) => name)
  assert.deepEqual(
    seen.toSorted(),
    [...(caller.scope?.entities ? [] : builtIn), ...readable].toSorted(),
    what,
  )
  assert.deepEqual(
    described
      .filter(({ writable }) => writable)
      .map(({ name }) => name)
      .toSorted(),
    entityNames.filter(name => mayWrite(plan, caller, name)).toSorted(),
    what,
  )
  assertSilent(plan, caller, { status, code, body, headers }, [], what)
  for (const path of [
    '/api/query/v4/nothing',
    '/api/query/v4/quartx',
    // The document is the same for all callers.
    ...(isLong || caller.name === 'nobody' ? ['/api/openapi.json'] : []),
    '/api/query/v4/items/x/nothing',
  ])
    assertSilent(plan, caller, await ask(world, caller, path), [], `${caller.name}: ${path}`)
  for (const query of [
    'nothing { }',
    'quartx { }',
    'items[zz] { }',
    'items { uuid in nothing[id] { } }',
    ...entityNames.map(name => `items { title in ${name}[secret] { } }`),
  ]) {
    const answer = await ask(world, caller, `/api/query/v4?${new URLSearchParams({ query })}`)
    const asked = entityNames.filter(name => query.includes(name))
    assertSilent(plan, caller, answer, asked, `${caller.name}: ${query}: ${answer.body}`)
    // An entity that doesn't exist and one that may not be read give the same answer.
    for (const name of asked) {
      if (mayRead(plan, caller, name)) continue
      const twin = `${name.slice(0, -1)}7`
      const other = await ask(
        world,
        caller,
        `/api/query/v4?${new URLSearchParams({ query: query.replace(name, twin) })}`,
      )
      assert.equal(other.body.replaceAll(twin, name), answer.body, `${caller.name}: ${query}`)
    }
  }
}

test('Q11 Q12 R2 K2 G1 B3 every record and every list of entities is what a plain model says, for each kind of caller', async t => {
  const world = await startWorld(t)
  for (const plan of somePlans()) {
    await carryOut(world, plan)
    for (const caller of world.callers) {
      await checkDescriptions(world, plan, caller)
      await checkRecords(world, plan, caller)
    }
  }
})
