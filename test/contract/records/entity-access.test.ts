import assert from 'node:assert/strict'
import { commandEvent } from '../../../src/cli/store.ts'
import { withoutRequestId } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { list, listPath } from '../../support/clients/listings.ts'
import { epersonsPath, patchJson } from '../../support/clients/people.ts'
import { eventsOf } from '../../support/data/events.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { runSql, serverUrl } from '../../support/service/databases.ts'
import { databaseOf, runSqlIn, test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

const asJson = { 'content-type': 'application/json' }
const ndjson = { 'content-type': 'application/x-ndjson' }

const importing = (...more: string[]) => ['import', '-', '--entity', 'thing', '--key', 'id', ...more]

async function run({ dataFolder }: Service, args: readonly string[], input = ''): Promise<string> {
  const done = await carrel(dataFolder, args, { input })
  assert.equal(done.code, 0, done.stderr)
  return done.stdout
}

const statusFor = async (service: Service, entity = 'thing') =>
  (await service.client().get(listPath(entity))).status

test('D7 an import without --read keeps the rule of the entity, and the report says what it is', async t => {
  const service = await startService(t)
  const first = await run(service, importing('--json'), '{"id":1}')
  assert.equal((JSON.parse(first) as { read: string }).read, 'admin')
  assert.equal(await statusFor(service), 401)

  await run(service, importing('--read', 'anonymous'), '{"id":1}')
  const again = await run(service, importing(), '{"id":1}')
  assert.match(again, /^It can be read by anonymous; `carrel entity access thing <rule>` changes that\.$/m)
  assert.deepEqual(await list(service.client(), 'thing'), [{ id: 1 }])
  const asJson = await run(service, importing('--json'), '{"id":1}')
  assert.equal((JSON.parse(asJson) as { read: string }).read, 'anonymous')

  await run(service, importing('--read', 'eperson'), '{"id":1}')
  assert.equal(await statusFor(service), 401)
})

test('D7 D8 entity access changes who may read, at once, on every node, and is audited', async t => {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  await service.addEperson('ruth@example.org', { groups: ['Their Readers'] })
  await service.addRecords('thing', 'id', [{ id: 1 }], 'admin')
  const other = await startService(t, { dataFolder: service.dataFolder })
  assert.equal(await statusFor(other), 401)

  const said = await run(service, ['entity', 'access', 'thing', 'anonymous'])
  assert.equal(said, 'thing can now be read by anonymous.\n')
  for (const node of [service, other]) assert.deepEqual(await list(node.client(), 'thing'), [{ id: 1 }])

  await run(service, ['entity', 'access', 'thing', 'group:Their Readers'])
  for (const node of [service, other]) {
    assert.equal(await statusFor(node), 401)
    const ruth = await node.loggedIn('ruth@example.org')
    assert.deepEqual(await list(ruth, 'thing'), [{ id: 1 }])
  }

  const root = await service.loggedIn('root@example.org')
  const event = {
    outcome: 'success',
    eperson: null,
    actor: null,
    client_ip: null,
    method: null,
    reason: null,
  }
  assert.deepEqual(await eventsOf(root, 'entity.access'), [
    { ...event, object: 'thing' },
    { ...event, object: 'thing' },
  ])
})

test('D8 entity access refuses built-in and unknown entities, groups and rules', async t => {
  const service = await startService(t)
  await service.addRecords('thing', 'id', [{ id: 1 }])
  for (const [args, code, message] of [
    [['items', 'anonymous'], 1, /items is built in/],
    [['nothing', 'anonymous'], 1, /there is no imported or exposed entity nothing/],
    [['thing', 'group:Nobody'], 1, /there is no group Nobody; add it with `carrel group add Nobody`/],
    [
      ['thing', 'everybody'],
      2,
      /<rule> takes anonymous, .+ or eperson:<e-mail address or UUID>, not "everybody"/,
    ],
    [['thing', 'eperson:ruth@x.example'], 1, /there is no eperson ruth@x\.example; `carrel eperson list`/],
    [['thing', 'eperson from:2027-01-01'], 2, /<rule> takes who may read, without days/],
    [['thing'], 2, /rule/],
  ] as const) {
    const done = await carrel(service.dataFolder, ['entity', 'access', ...args])
    assert.equal(done.code, code, done.stderr)
    assert.match(done.stderr, /^carrel: [^\n]+\n$/)
    assert.match(done.stderr, message)
  }
  assert.equal(await statusFor(service), 200)
})

test('Q11 R2 an entity is opened to one person, by command and over HTTP, and stays theirs when their address changes', async t => {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addEperson('root@example.org', { admin: true })
  const { uuid } = await service.addEperson('ruth@example.org')
  const max = await service.addEperson('max@example.org')
  await service.addRecords('thing', 'id', [{ id: 1 }], 'admin')
  await service.addRecords('other', 'id', [{ id: 1 }], 'admin')
  const root = await service.loggedIn('root@example.org')
  const ruth = await service.loggedIn('ruth@example.org')
  const him = await service.loggedIn('max@example.org')
  const seenBy = (client: Client, entity = 'thing') => client.get(listPath(entity)).then(one => one.status)
  const write = (client: Client) =>
    client.put('/api/query/v4/thing/2', '{"id":2}', asJson).then(one => one.status)

  const said = await run(service, ['entity', 'access', 'thing', 'eperson:RUTH@example.org'])
  assert.equal(said, `thing can now be read by eperson:${uuid}.\n`)
  assert.deepEqual([await seenBy(ruth), await seenBy(him), await statusFor(service)], [200, 403, 401])
  const acting = { 'x-on-behalf-of': uuid }
  assert.equal((await root.get(listPath('thing'), acting)).status, 200)
  assert.equal((await root.get(listPath('thing'), { 'x-on-behalf-of': max.uuid })).status, 403)
  await run(service, ['entity', 'writers', 'thing', `eperson:${uuid}`])
  assert.deepEqual([await write(ruth), await write(him)], [201, 403])

  const change = (rules: object) => root.patch('/api/admin/entities/other', JSON.stringify(rules), asJson)
  const changed = await change({ read: 'eperson:max@example.org', write: `eperson:${uuid.toUpperCase()}` })
  const { read, write: writes } = (await changed.json()) as Record<string, unknown>
  assert.deepEqual([changed.status, read, writes], [200, `eperson:${max.uuid}`, `eperson:${uuid}`])
  assert.deepEqual([await seenBy(him, 'other'), await seenBy(ruth, 'other')], [200, 403])

  const renamed = [{ op: 'replace', path: '/email', value: 'ruth@elsewhere.example' }]
  assert.equal((await patchJson(root, `${epersonsPath}/${uuid}`, renamed)).status, 200)
  const newcomer = await service.addEperson('ruth@example.org')
  const second = await service.loggedIn('ruth@example.org')
  assert.notEqual(newcomer.uuid, uuid)
  assert.deepEqual([await seenBy(ruth), await seenBy(second)], [200, 403])

  await run(service, ['eperson', 'delete', 'ruth@elsewhere.example'])
  assert.deepEqual([await seenBy(ruth), await seenBy(second)], [401, 403])
  const shown = JSON.parse(await run(service, ['entity', 'show', 'thing', '--json']))
  assert.deepEqual([shown.read, shown.write], ['admin', null])
})

test('Q11 only administrators learn whether a rule names somebody who is there', async t => {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  await service.addEperson('ruth@example.org')
  await service.addRecords('thing', 'id', [{ id: 1 }], 'admin')
  const root = await service.loggedIn('root@example.org')
  const ruth = await service.loggedIn('ruth@example.org')
  const path = '/api/admin/entities/thing'
  const ask = async (client: Client, who: string) => {
    const patched = await client.patch(path, JSON.stringify({ read: `eperson:${who}` }), asJson)
    const put = await client.put(path, JSON.stringify({ read: `eperson:${who}` }), asJson)
    const sent = await client.post(`${path}/import?read=eperson:${who}`, '{"id":1}\n', ndjson)
    const answers = []
    for (const one of [patched, put, sent]) {
      const { status } = one
      answers.push([
        status,
        withoutRequestId(await one.text()).replaceAll(/eperson:[^"\s]+|"value":"[^"]*"/g, ''),
      ])
    }
    return answers
  }
  for (const client of [ruth, service.client()])
    assert.deepEqual(await ask(client, 'root@example.org'), await ask(client, 'none@example.org'))
  const unknown = await ask(root, 'none@example.org')
  assert.deepEqual(
    unknown.map(([status]) => status),
    [422, 422, 422],
  )
  const said = JSON.parse(String(unknown[0]?.[1])) as Record<string, unknown>
  assert.match(
    String(said.detail),
    /^There is no eperson with the e-mail address or UUID "none@example\.org"\.$/,
  )
  assert.equal(said.member, '/read')
})

testOn('postgres', 'D7 D8 an exposed entity keeps its rule too, and entity access changes it', async t => {
  // Roles belong to the server, and remain when the database is dropped.
  let database = ''
  atEnd(t, async () => runSql(await serverUrl(), `DROP ROLE IF EXISTS carrel_reader_${database}`))
  const service = await startService(t)
  database = new URL((await databaseOf(service.dataFolder)) ?? '').pathname.slice(1)
  await runSqlIn(
    service.dataFolder,
    'CREATE TABLE public.shelves (id integer PRIMARY KEY); INSERT INTO public.shelves VALUES (7)',
  )
  const expose = (read: 'anonymous' | null) =>
    service.storage.entities.expose?.(
      { name: 'shelves', schema: 'public', table: 'shelves', key: null, read, fields: null },
      commandEvent('entity.expose'),
    )
  assert.equal((await expose(null))?.read, 'admin')
  assert.equal(await statusFor(service, 'shelves'), 401)
  await run(service, ['entity', 'access', 'shelves', 'anonymous'])
  assert.deepEqual(await list(service.client(), 'shelves'), [{ id: 7 }])
  assert.equal((await expose(null))?.read, 'anonymous')
  assert.deepEqual(await list(service.client(), 'shelves'), [{ id: 7 }])
})
