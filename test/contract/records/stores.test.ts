import assert from 'node:assert/strict'
import { commandEvent } from '../../../src/cli/store.ts'
import { list } from '../../support/clients/listings.ts'
import { eventsOf } from '../../support/data/events.ts'
import { deleteRecord, putRecord } from '../../support/data/record-writes.ts'
import { createDatabase } from '../../support/service/databases.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

async function run({ dataFolder }: Service, ...args: string[]): Promise<string> {
  const done = await carrel(dataFolder, args)
  assert.equal(done.code, 0, done.stderr)
  return done.stdout
}

const refused = async ({ dataFolder }: Service, code: number, says: RegExp, ...args: string[]) => {
  const done = await carrel(dataFolder, args)
  assert.equal(done.code, code, done.stdout)
  assert.match(done.stderr, says)
}

async function started(t: Parameters<typeof startService>[0]) {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  await service.addEperson('ruth@example.org', { groups: ['Writers'] })
  await service.addRecords('thing', 'id', [{ id: 1, n: 1 }])
  const ruth = await service.loggedIn('ruth@example.org')
  return { service, ruth }
}

test('R2 D8 entity writers opens an entity and closes it again, at once, and is audited', async t => {
  const { service, ruth } = await started(t)
  assert.equal(
    await run(service, 'entity', 'writers', 'thing', 'group:Writers'),
    'Records of thing can now be written by group:Writers.\n',
  )
  await putRecord(ruth, 'thing', 2, { n: 2 })
  const listed = JSON.parse(await run(service, 'entity', 'list', '--json')) as {
    name: string
    write: string | null
    records: number
  }[]
  const thing = listed.find(({ name }) => name === 'thing')
  assert.deepEqual([thing?.write, thing?.records], ['group:Writers', 2])
  assert.match(await run(service, 'entity', 'list'), /thing +id +anonymous +group:Writers/)
  const said = await run(service, 'entity', 'writers', 'thing', 'nobody', '--json')
  assert.deepEqual(JSON.parse(said), { name: 'thing', write: null })
  const late = await ruth.request('/api/query/v4/thing/3', { method: 'DELETE' })
  assert.equal(late.status, 403)
  const root = await service.loggedIn('root@example.org')
  assert.deepEqual(
    (await eventsOf(root, 'entity.writers')).map(({ object }) => object),
    ['thing', 'thing'],
  )
})

test('R2 D1 entity writers refuses what can’t be a rule, and entities that can’t be written', async t => {
  const { service } = await started(t)
  const writers = (...args: string[]) => ['entity', 'writers', ...args]
  await refused(
    service,
    2,
    /takes nobody, eperson, admin, group:<name> or eperson:<e-mail address or UUID>: records/,
    ...writers('thing', 'anonymous'),
  )
  await refused(service, 2, /<rule> takes/, ...writers('thing', 'some'))
  await refused(service, 1, /there is no group None/, ...writers('thing', 'group:None'))
  await refused(service, 1, /there is no imported entity nothing/, ...writers('nothing', 'eperson'))
  await refused(service, 1, /items is built in/, ...writers('items', 'eperson'))
})

testOn('sqlite', 'R1 D2 a copied store has the records that were written, and can be written to', async t => {
  const { service, ruth } = await started(t)
  await service.storage.entities.changeWriteRule('thing', 'group:Writers', commandEvent('entity.writers'))
  await putRecord(ruth, 'thing', 2, { n: 2 })
  await putRecord(ruth, 'thing', 3, { n: 3 })
  await deleteRecord(ruth, 'thing', 1)
  const before = await list(ruth, 'thing')
  await service.stop()
  const url = await createDatabase(t)
  const to = new URL(url)
  const env = { PGPASSWORD: decodeURIComponent(to.password) }
  to.password = ''
  const done = await carrel(service.dataFolder, ['copy', '--to', to.href], { env })
  assert.equal(done.code, 0, done.stderr)
  const copied = await startService(t, { env: { CARREL_DATABASE_URL: url } })
  const client = copied.client()
  client.token = ruth.token
  assert.deepEqual(await list(client, 'thing'), before)
  await putRecord(client, 'thing', 2, { n: 4 })
  assert.deepEqual(await list(client, 'thing'), [
    { n: 4, id: 2 },
    { n: 3, id: 3 },
  ])
})
