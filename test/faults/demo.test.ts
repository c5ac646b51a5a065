import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createDemo } from '../../src/cli/demo.ts'
import { commandEvent } from '../../src/cli/store.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { isLong } from '../support/scale.ts'
import { storeSettings, test } from '../support/service/engines.ts'
import { carrelProcess, cleanEnvironment, entry, serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

/** Fails when this method is called for the nth time, as if the service had been killed then. */
const dyingAt = (
  storage: Storage,
  part: 'entities' | 'people' | 'repository',
  method: string,
  nth: number,
) => {
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
  } as Storage
}

const question = '/api/query/v4/letters?limit=3'

test('D4 a demo that was left incomplete at any step is finished by the next start', async t => {
  for (const [part, method, nth] of [
    ['people', 'addEperson', 1],
    ['people', 'addEperson', 2],
    ['people', 'addGroup', 1],
    ['people', 'join', 2],
    ['entities', 'declare', 1],
    ['entities', 'declare', 3],
    ['repository', 'putItems', 1],
    ['repository', 'setDemo', 2],
  ] as const) {
    const service = await startService(t)
    const { storage, config } = service
    await assert.rejects(createDemo(dyingAt(storage, part, method, nth), config.files), /killed/)
    assert.ok(await createDemo(storage, config.files), `${part}.${method} ${nth}`)
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
    assert.equal(await createDemo(storage, config.files), undefined)
    await service.stop()
  }
})

test('D4 what people have deleted of a complete demo does not come back, and a store in use gets none', async t => {
  const { storage, config } = await startService(t)
  assert.ok(await createDemo(storage, config.files))
  await storage.entities.drop('letters', commandEvent('entity.drop'))
  await storage.people.deleteEperson('reader@example.org', commandEvent('eperson.delete'))
  await storage.repository.deleteItem('demo/1', commandEvent('item.delete'))
  assert.equal(await createDemo(storage, config.files), undefined)
  assert.equal((await storage.entities.all()).has('letters'), false)
  assert.equal((await storage.people.listEpersons()).length, 2)
  assert.equal(await storage.repository.uuidOf('demo/1'), undefined)

  const used = await startService(t)
  await used.addEperson('ruth@example.org')
  assert.equal(await createDemo(used.storage, used.config.files), undefined)
  assert.equal(await used.storage.repository.demo(), 'none')
})

test('D4 D5 after SIGKILL at any moment, serve --demo is ready once the demo is whole', async t => {
  const dataFolder = temporaryFolder(t)
  const settings = { ...(await storeSettings(dataFolder)), CARREL_PORT: '0', CARREL_WORKERS: '2' }
  for (let ms = 300; ms < 2_500; ms += isLong ? 100 : 500) {
    const child = spawn(process.execPath, [entry, 'serve', '--demo'], {
      env: cleanEnvironment(settings),
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    await delay(ms)
    child.kill('SIGKILL')
    await ended
  }
  const served = await serve(t, dataFolder, { args: ['--demo'] })
  assert.equal((await fetch(`${served.address}/health/ready`)).status, 200)
  const first = await fetch(served.address + question)
  assert.equal(first.status, 200)
  assert.equal(((await first.json()) as unknown[]).length, 3)
  const items = await carrelProcess(dataFolder, ['item', 'list', '--json'])
  assert.equal((JSON.parse(items.stdout) as unknown[]).length, 5)
  assert.equal(await served.stop(), 0)
})

test('D5 a service is not ready while its demo is being added', async t => {
  const dataFolder = temporaryFolder(t)
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const port = String((other.address() as AddressInfo).port)
  other.close()
  const settings = { ...(await storeSettings(dataFolder)), CARREL_PORT: port, CARREL_WORKERS: '1' }
  const child = spawn(process.execPath, [entry, 'serve', '--demo'], { env: cleanEnvironment(settings) })
  child.stdout.resume()
  child.stderr.resume()
  const ended = once(child, 'exit')
  const seen = new Set<number>()
  try {
    while (!seen.has(200) && child.exitCode === null) {
      const ready = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined)
      if (!ready) continue
      seen.add(ready.status)
      const body = await ready.text()
      if (ready.status === 503) assert.match(body, /"code":"busy".*its demo is being added/)
      else {
        const letters = await fetch(`http://127.0.0.1:${port}${question}`)
        assert.equal(letters.status, 200, 'ready means that the letters are there')
      }
    }
    assert.deepEqual([...seen], [503, 200])
  } finally {
    child.kill('SIGTERM')
    await ended
  }
})
