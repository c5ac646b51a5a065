import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { createDemo } from '../../src/cli/demo.ts'
import { commandEvent, openStore } from '../../src/cli/store.ts'
import { toConfig } from '../../src/config/config.ts'
import { importRecords } from '../../src/entities/import-entity.ts'
import type { Store } from '../../src/features.ts'
import { Client } from '../support/clients/client.ts'
import { storeSettings, test, testOnOne } from '../support/service/engines.ts'
import { asTerminal, carrelProcess, cleanEnvironment, entry, serve } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until, within } from '../support/service/waiting.ts'

/** Fails when this method is called for the nth time, as if the service had been killed then. */
const dyingAt = (storage: Store, part: 'entities' | 'people' | 'repository', method: string, nth: number) => {
  const real = storage[part] as unknown as Record<string, (...args: unknown[]) => unknown>
  let calls = 0
  return {
    ...storage,
    [part]: {
      ...real,
      [method]: (...args: unknown[]) => {
        if (++calls === nth) throw new Error('killed')
        return real[method]?.(...args)
      },
    },
  } as Store
}

/** Adds the demo, and tells of it. */
async function addDemo(...given: Parameters<typeof createDemo>): Promise<string> {
  const created = await createDemo(...given)
  if (typeof created === 'string') return created
  await created.finish()
  return 'added'
}

const onTerminal = {
  args: ['--demo'],
  program: [process.execPath, '--import', asTerminal('stderr'), entry],
} as const

const credentialsIn = (text: string) =>
  [...text.matchAll(/^ {2}(\S+@example\.org) +(\S+) +\S+$/gm)].map(([, email = '', password = '']) => ({
    email,
    password,
  }))

const question = '/api/query/v4/letters?limit=3'

test('D4 a demo that was left incomplete at any step is finished by the next start', async t => {
  for (const [part, method, nth] of [
    ['people', 'addEperson', 1],
    ['people', 'addEperson', 2],
    ['people', 'addGroup', 1],
    ['people', 'join', 2],
    ['entities', 'publish', 1],
    ['entities', 'publish', 3],
    ['repository', 'putItems', 1],
    ['repository', 'setDemo', 2],
  ] as const) {
    const service = await startService(t)
    const { storage, config } = service
    await assert.rejects(addDemo(dyingAt(storage, part, method, nth), config.files), /killed/)
    assert.equal(await addDemo(storage, config.files), 'added', `${part}.${method} ${nth}`)
    assert.equal(await storage.repository.demo(), 'complete')
    const epersons = await storage.people.listEpersons()
    assert.deepEqual(epersons.map(({ email, groups }) => [email, groups]).toSorted(), [
      ['admin@example.org', ['Administrator']],
      ['curator@example.org', ['Curators']],
      ['reader@example.org', ['Readers']],
    ])
    const entities = await storage.entities.all()
    for (const name of ['letters', 'visits', 'appraisals']) assert.ok(entities.get(name)?.description, name)
    const letters = await fetch(`${service.address}/api/query/v4/letters?limit=1&include_total=true`)
    assert.equal(letters.headers.get('x-records'), '10000')
    for (let n = 1; n <= 5; n++) assert.ok(await storage.repository.uuidOf(`demo/${n}`), `demo/${n}`)
    assert.equal(await createDemo(storage, config.files), 'in use')
    await service.stop()
  }
})

test('D4 what people have deleted of a complete demo does not come back, and a store in use gets none', async t => {
  const { storage, config } = await startService(t)
  assert.equal(await addDemo(storage, config.files), 'added')
  await storage.entities.drop('letters', commandEvent('entity.drop'))
  await storage.people.deleteEperson('reader@example.org', commandEvent('eperson.delete'))
  await storage.repository.deleteItem('demo/1', commandEvent('item.delete'))
  assert.equal(await createDemo(storage, config.files), 'in use')
  assert.equal((await storage.entities.all()).has('letters'), false)
  assert.equal((await storage.people.listEpersons()).length, 2)
  assert.equal(await storage.repository.uuidOf('demo/1'), undefined)

  for (const use of [
    (used: Service) => used.addEperson('ruth@example.org'),
    ({ storage: store }: Service) => importLetters(store),
  ]) {
    const used = await startService(t)
    await use(used)
    assert.equal(await createDemo(used.storage, used.config.files), 'in use')
    assert.equal(await used.storage.repository.demo(), 'none')
  }
})

/** Imports an entity as an operator does, who happens to give it a name of the demo. */
const importLetters = ({ entities }: Store) =>
  importRecords(
    oneRecord(),
    entities,
    { name: 'letters', key: 'id', read: 'eperson', event: commandEvent('entity.import') },
    () => {},
  )

async function* oneRecord() {
  yield [{ line: 1, record: { id: 1, secret: 'of the operator' } }]
}

test('D4 what others have made since a demo was left incomplete, or while it is added, stays as it is', async t => {
  for (const [part, method, nth] of [
    ['people', 'addEperson', 1],
    ['people', 'addGroup', 1],
    ['entities', 'publish', 1],
  ] as const) {
    const { storage, config, addEperson } = await startService(t)
    await assert.rejects(createDemo(dyingAt(storage, part, method, nth), config.files), /killed/)
    await importLetters(storage)
    if (method === 'addEperson') await addEperson('admin@example.org')
    const look = async () => [
      (await storage.entities.all()).get('letters'),
      await storage.people.credentials('admin@example.org'),
      await storage.people.listGroups(),
    ]
    const before = await look()
    assert.equal(await createDemo(storage, config.files), 'incomplete', method)
    assert.deepEqual(await look(), before)
  }
  const { storage, config } = await startService(t)
  const { join } = storage.people
  const meanwhile: Store['people']['join'] = async (group, ...rest) => {
    if (group === 'Curators') await importLetters(storage)
    return join(group, ...rest)
  }
  const busy = { ...storage, people: { ...storage.people, join: meanwhile } }
  assert.equal(await createDemo(busy, config.files), 'incomplete')
  assert.equal((await storage.entities.all()).get('letters')?.read, 'eperson')

  const late = await startService(t)
  const { publish } = late.storage.entities
  const first: Store['entities']['publish'] = async (entity, ...rest) => {
    if (entity.replaces === null) await importLetters(late.storage)
    return publish(entity, ...rest)
  }
  const racing = { ...late.storage, entities: { ...late.storage.entities, publish: first } }
  assert.equal(await createDemo(racing, late.config.files), 'incomplete')
  assert.equal((await late.storage.entities.all()).get('letters')?.read, 'eperson')
})

test('D4 of processes that add a demo at the same time only one does, unless its process has ended', async t => {
  const { storage, config } = await startService(t)
  const claim = (owner: string) => storage.identities.keepTicket('demo', owner, storage.clock.now() + 1e6, 0)
  await claim(JSON.stringify(['another machine', 1, null]))
  assert.equal(await createDemo(storage, config.files), 'elsewhere')
  assert.deepEqual(await storage.people.listEpersons(), [])

  const ended = await startService(t)
  await ended.storage.identities.keepTicket(
    'demo',
    JSON.stringify([hostname(), 2 ** 30, '1']),
    ended.storage.clock.now() + 1e6,
    0,
  )
  const both = await Promise.all([1, 2].map(() => addDemo(ended.storage, ended.config.files)))
  assert.deepEqual(both.toSorted(), ['added', 'elsewhere'])
})

test('D4 L10 two services that add the demo to one store tell one set of passwords, which work', async t => {
  const dataFolder = temporaryFolder(t)
  const both = await Promise.all([1, 2].map(() => serve(t, dataFolder, onTerminal)))
  await Promise.all(
    both.map(one => one.said(/README\.md says|"msg":"(the store was in use|another process)/)),
  )
  const told = both.flatMap(({ output }) => credentialsIn(output.stderr))
  assert.equal(told.length, 3)
  for (const { email, password } of told)
    assert.equal((await new Client(both[0]?.address ?? '').tryLogin(email, password)).status, 200)
  for (const one of both) assert.equal(await one.stop(), 0)
})

test('D4 L10 after SIGTERM while a demo is added, the next start tells passwords that work', async t => {
  const dataFolder = temporaryFolder(t)
  const settings = await storeSettings(dataFolder)
  const storage = await openStore(toConfig({ ...settings, CARREL_LOG_LEVEL: 'silent' }), { create: true })
  const child = spawn(process.execPath, [entry, 'serve', '--demo'], {
    env: cleanEnvironment({ ...settings, CARREL_PORT: '0', CARREL_WORKERS: '1', CARREL_DRAIN_DELAY: '3' }),
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  await until('the first eperson', async () => (await storage.people.listEpersons()).length > 0)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
  assert.equal(await storage.repository.demo(), 'begun')
  await storage.close()

  const served = await serve(t, dataFolder, onTerminal)
  await served.said(/README\.md says/)
  const told = credentialsIn(served.output.stderr)
  assert.equal(told.length, 3)
  for (const { email, password } of told)
    assert.equal((await new Client(served.address).tryLogin(email, password)).status, 200)
  assert.equal(await served.stop(), 0)
})

test('D4 D5 after SIGKILL at any step, serve --demo is ready once the demo is whole', async t => {
  const dataFolder = temporaryFolder(t)
  const settings = { ...(await storeSettings(dataFolder)), CARREL_PORT: '0', CARREL_WORKERS: '2' }
  const storage = await openStore(toConfig({ ...settings, CARREL_LOG_LEVEL: 'silent' }), { create: true })
  const epersons = async (least: number) => (await storage.people.listEpersons()).length >= least
  const hasEntity = async (name: string) => (await storage.entities.all()).has(name)
  for (const isReached of [
    async () => (await storage.repository.demo()) === 'begun',
    () => epersons(1),
    () => epersons(3),
    () => hasEntity('letters'),
    () => hasEntity('visits'),
    async () => (await storage.repository.uuidOf('demo/1')) !== undefined,
  ]) {
    const child = spawn(process.execPath, [entry, 'serve', '--demo'], {
      env: cleanEnvironment(settings),
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    await until(`that ${isReached}`, isReached)
    child.kill('SIGKILL')
    await ended
  }
  await storage.close()
  const served = await serve(t, dataFolder, { args: ['--demo'] })
  assert.equal((await fetch(`${served.address}/health/ready`)).status, 200)
  const first = await fetch(served.address + question)
  assert.equal(first.status, 200)
  assert.equal(((await first.json()) as unknown[]).length, 3)
  const items = await carrelProcess(dataFolder, ['item', 'list', '--json'])
  assert.equal((JSON.parse(items.stdout) as unknown[]).length, 5)
  assert.equal(await served.stop(), 0)
})

testOnOne(
  'D4 D5 a service is not ready while its demo is being added, and ends with one sentence if that fails',
  async t => {
    const dataFolder = temporaryFolder(t)
    // A bucket that breaks off all connections until the service serves, and then doesn't answer, so that the demo
    // waits for it.
    const bucket = createServer().listen(0, '127.0.0.1')
    const connections = new Set<Socket>()
    let isServing = false
    bucket.on('connection', connection => {
      if (isServing) connections.add(connection.on('error', () => {}))
      else connection.destroy()
    })
    const other = createServer().listen(0, '127.0.0.1')
    await Promise.all([once(bucket, 'listening'), once(other, 'listening')])
    const [endpoint, port] = [bucket, other].map(server => String((server.address() as AddressInfo).port))
    other.close()
    await once(other, 'close')
    const ended = carrelProcess(dataFolder, ['serve', '--demo'], {
      env: {
        CARREL_PORT: port ?? '',
        CARREL_WORKERS: '2',
        CARREL_FILES: 's3://bucket',
        CARREL_FILES_ENDPOINT: `http://127.0.0.1:${endpoint}`,
        AWS_ACCESS_KEY_ID: 'id',
        AWS_SECRET_ACCESS_KEY: 'key',
      },
    })
    const address = `http://127.0.0.1:${port}`
    await until('the service', async () => (await fetch(`${address}/health/live`)).ok)
    isServing = true
    await until('letters', async () => (await fetch(address + question)).status === 200)
    const ready = await fetch(`${address}/health/ready`)
    assert.equal(ready.status, 503)
    assert.match(await ready.text(), /"code":"busy".*lacks its demo/)
    bucket.close()
    for (const connection of connections) connection.destroy()
    const { code, stderr } = await within('the end', ended, () => 'a service that goes on')
    assert.equal(code, 1)
    assert.match(stderr, /^carrel: s3:\/\/bucket [^\n]*\n$/)
  },
)
