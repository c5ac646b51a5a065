import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import { list, listPath } from '../support/clients/listings.ts'
import { eventsOf } from '../support/data/events.ts'
import { atEnd } from '../support/service/at-end.ts'
import { runSql, serverUrl } from '../support/service/databases.ts'
import { databaseOf, runSqlIn, test, testOn } from '../support/service/engines.ts'
import { carrel } from '../support/service/process.ts'
import { type Service, startService } from '../support/service/service.ts'

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
    const ruth = node.client()
    await ruth.login('ruth@example.org')
    assert.deepEqual(await list(ruth, 'thing'), [{ id: 1 }])
  }

  const root = service.client()
  await root.login('root@example.org')
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
    [['thing', 'everybody'], 2, /<rule> takes anonymous, eperson, admin or group:<name>, not "everybody"/],
    [['thing'], 2, /rule/],
  ] as const) {
    const done = await carrel(service.dataFolder, ['entity', 'access', ...args])
    assert.equal(done.code, code, done.stderr)
    assert.match(done.stderr, /^carrel: [^\n]+\n$/)
    assert.match(done.stderr, message)
  }
  assert.equal(await statusFor(service), 200)
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
