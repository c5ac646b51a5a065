import assert from 'node:assert/strict'
import {
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { folderOf } from '../../src/config/files-place.ts'
import { bearerOf, Client } from '../support/clients/client.ts'
import { list } from '../support/clients/listings.ts'
import type { Event } from '../support/data/events.ts'
import { changeText } from '../support/data/imports.ts'
import { addItem } from '../support/data/repository.ts'
import { addEvents, withStorage } from '../support/data/trail.ts'
import { isLong } from '../support/scale.ts'
import { testOn } from '../support/service/engines.ts'
import { eventCounts, fill } from '../support/service/faults.ts'
import { type Served, serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const epersons = ['a', 'b', 'c'].map(name => `${name}@example.org`)
const admin = 'admin@example.org'

async function start(t: TestContext) {
  const folder = join(temporaryFolder(t), 'data')
  const uuids = await fill(t, { CARREL_DATA: folder }, { epersons, administrator: admin })
  return { folder, uuids, served: await serve(t, folder) }
}

/** The answers that one eperson's client received. */
interface Told {
  readonly email: string
  /** Numbers of logins and refreshes. */
  readonly counts: Record<'login' | 'refresh', number>
  refused: number
}

/** @param lost returns true once the files are lost, from when on requests must be refused */
async function keepBusy(address: string, told: Told, lost: () => boolean, isOver: () => boolean) {
  const client = new Client(address)
  while (!isOver()) {
    const name = client.token === undefined ? 'login' : 'refresh'
    const askedTooLate = lost()
    const answer = await (name === 'login'
      ? client.tryLogin(told.email, passwordOf(told.email))
      : client.post('/api/authn/login'))
    await answer.text()
    assert.ok([200, 503].includes(answer.status), `${name}: ${answer.status}`)
    if (answer.status === 503) told.refused++
    else {
      assert.ok(!(askedTooLate && lost()), `a ${name} was acknowledged after the loss`)
      told.counts[name]++
      // Only the first refresh of a session is recorded at once (D9).
      client.token = name === 'refresh' ? undefined : bearerOf(answer)
    }
  }
}

interface Loss {
  readonly how: string
  lose(folder: string): void
  /** Restores the files; undefined if they can't be restored. */
  readonly restore?: (folder: string) => void
  /** True if acknowledged changes can be in the store afterwards. */
  readonly isRecoverable: boolean
}

const database = (folder: string) => join(folder, 'carrel.db')
const aside = (path: string) => `${path}.aside`

const moved = (which: (folder: string) => string): Omit<Loss, 'how'> => ({
  lose: folder => renameSync(which(folder), aside(which(folder))),
  restore: folder => renameSync(aside(which(folder)), which(folder)),
  isRecoverable: true,
})

const replaced = (which: (folder: string) => string): Omit<Loss, 'how'> => ({
  lose: folder => {
    linkSync(which(folder), aside(which(folder)))
    copyFileSync(which(folder), `${which(folder)}.copy`)
    renameSync(`${which(folder)}.copy`, which(folder))
  },
  restore: folder => renameSync(aside(which(folder)), which(folder)),
  isRecoverable: true,
})

const losses: readonly Loss[] = [
  { how: 'the database is moved away', ...moved(database) },
  { how: 'the log is moved away', ...moved(folder => `${database(folder)}-wal`) },
  { how: 'the index is moved away', ...moved(folder => `${database(folder)}-shm`) },
  { how: 'the folder is moved away', ...moved(folder => folder) },
  { how: 'the database is replaced by a copy', ...replaced(database) },
  { how: 'the log is replaced by a copy', ...replaced(folder => `${database(folder)}-wal`) },
  {
    how: 'the log is removed',
    lose: folder => rmSync(`${database(folder)}-wal`),
    isRecoverable: true,
  },
  {
    how: 'the log and its index are removed',
    lose: folder => {
      for (const end of ['-wal', '-shm']) rmSync(database(folder) + end)
    },
    isRecoverable: true,
  },
  {
    how: 'the folder is removed',
    lose: folder => rmSync(folder, { recursive: true }),
    isRecoverable: false,
  },
  {
    how: 'the database is cut short',
    lose: folder => truncateSync(database(folder), 4_096),
    isRecoverable: false,
  },
  {
    how: 'the log is cut short',
    lose: folder => truncateSync(`${database(folder)}-wal`, 0),
    isRecoverable: false,
  },
]

const readyOf = async ({ address }: Pick<Served, 'address'>) =>
  (await fetch(`${address}/health/ready`)).status

/**
 * Losses that CI tries, one of each kind. The loss of the whole folder is covered by the test of a logout,
 * too.
 */
const everyday = ['the database is moved away', 'the log is replaced by a copy', 'the database is cut short']

for (const { how, lose, restore, isRecoverable } of losses.filter(
  ({ how }) => isLong || everyday.includes(how),
))
  testOn('sqlite', `D5 D4 nothing is acknowledged after ${how}`, async t => {
    const { folder, uuids, served } = await start(t)
    const all = epersons.map((email): Told => ({ email, counts: { login: 0, refresh: 0 }, refused: 0 }))
    let isLost = false
    let isOver = false
    const load = Promise.all(
      all.map(told =>
        keepBusy(
          served.address,
          told,
          () => isLost,
          () => isOver,
        ),
      ),
    )
    const come = (what: string, isReached: () => boolean) =>
      Promise.race([
        until(
          what,
          () => all,
          () => isReached(),
        ),
        load,
      ])
    await come('refreshes', () => all.every(({ counts }) => counts.refresh > 3))
    lose(folder)
    isLost = true
    await come('refusals', () => all.every(({ refused }) => refused > 1))
    assert.equal(await readyOf(served), 503)
    assert.equal((await fetch(`${served.address}/health/live`)).status, 200)
    await served.said(/the store has lost a file/)
    // Readers notice the loss, too.
    await until(
      'a query that is refused',
      async () => (await fetch(`${served.address}/api/query/v4`)).status,
      status => status === 503,
    )

    if (restore) {
      isLost = false
      restore(folder)
      const before = all.map(({ counts }) => counts.refresh)
      await come('refreshes afterwards', () =>
        all.every(({ counts }, at) => counts.refresh > (before[at] ?? 0) + 1),
      )
      assert.equal(await readyOf(served), 200)
      await served.said(/the files of the store are back/)
    }
    isOver = true
    await load
    assert.equal(served.output.stdout.match(/the store has lost a file/g)?.length, 1)
    served.signal('SIGKILL')
    await served.ended
    if (!isRecoverable) return
    const again = await serve(t, folder)
    const client = new Client(again.address)
    client.token = await client.login(admin)
    const events = await list<Event>(client, 'audit-events')
    for (const { email, counts } of all)
      for (const name of ['login', 'refresh'] as const) {
        const found = eventCounts(events, uuids.get(email), name)
        assert.ok(found >= counts[name], `${found} of ${counts[name]} of ${name} of ${email}`)
      }
    assert.equal(await again.stop(), 0)
  })

testOn('sqlite', 'D5 a logout after the loss of the store is not acknowledged', async t => {
  const { folder, served } = await start(t)
  const client = new Client(served.address)
  client.token = await client.login(epersons[0] as string)
  renameSync(folder, aside(folder))
  const refused = await client.post('/api/authn/logout')
  assert.equal(refused.status, 503)
  assert.deepEqual(refused.headers.getSetCookie(), [])
  renameSync(aside(folder), folder)
  const is200 = (status: number) => status === 200
  await until('a service that is ready', () => readyOf(served), is200)
  await until('a status', async () => (await client.get('/api/authn/status')).status, is200)
  assert.equal(await served.stop(), 0)
})

testOn('sqlite', 'D5 a file that is cut short stays lost when it has grown again', async t => {
  const { folder, served } = await start(t)
  const copy = join(folder, 'copy')
  copyFileSync(database(folder), copy)
  // Once the service is ready, all threads have opened the file.
  assert.equal(await readyOf(served), 200)
  truncateSync(database(folder), 0)
  assert.equal(await readyOf(served), 503)
  copyFileSync(copy, database(folder))
  assert.equal(await readyOf(served), 503)
  const advice = /was cut short: stop the service, restore a backup, and start it again/
  await served.said(advice)
  assert.match(served.output.stdout, advice)
})

testOn(
  'sqlite',
  'D5 D4 nothing is acknowledged after an older store is copied over the running one',
  async t => {
    for (const names of [['carrel.db'], ['carrel.db', 'carrel.db-wal', 'carrel.db-shm']]) {
      const { folder, served } = await start(t)
      const older = join(temporaryFolder(t), 'older')
      cpSync(folder, older, { recursive: true })
      const client = new Client(served.address)
      client.token = await client.login(epersons[0] as string)
      // Moves the changes from the log to the file, because the log would hide changes of the file.
      await withStorage(folder, storage => addEvents(storage, 300))
      assert.equal(await readyOf(served), 200)
      // Like `cp`, this keeps the file and replaces its content.
      for (const name of names) writeFileSync(join(folder, name), readFileSync(join(older, name)))
      assert.equal((await client.post('/api/authn/login')).status, 503, names.join())
      assert.equal(await readyOf(served), 503)
      await served.said(/written over by another program|an older one was copied over it|cut short/)
      served.signal('SIGKILL')
      await served.ended
    }
  },
)

testOn('sqlite', 'D5 a file of the store that is only touched is no loss', async t => {
  const { folder, served } = await start(t)
  assert.equal(await readyOf(served), 200)
  utimesSync(database(folder), new Date(), new Date())
  assert.equal(await readyOf(served), 200)
})

/** Ways to lose an entity's files. */
const lostRecords: readonly { readonly how: string; lose(files: RecordFiles): void }[] = [
  { how: 'the folder is gone', lose: ({ folder }) => renameSync(folder, aside(folder)) },
  {
    how: 'the folder is empty',
    lose: ({ folder }) => {
      renameSync(folder, aside(folder))
      mkdirSync(folder)
    },
  },
  { how: 'the base of a revision is gone', lose: ({ base }) => rmSync(base) },
  { how: 'a revision is gone', lose: ({ revision }) => rmSync(revision) },
  {
    how: 'a file is written over',
    lose: ({ base }) => writeFileSync(base, Buffer.alloc(statSync(base).size, 7)),
  },
  { how: 'a file is cut short', lose: ({ base }) => truncateSync(base, statSync(base).size / 2) },
  { how: "a file is another entity's", lose: ({ base, other }) => renameSync(other, base) },
  {
    how: "a file is written over with another entity's",
    lose: ({ base, other }) => copyFileSync(other, base),
  },
  {
    how: 'a folder is in place of a file',
    lose: ({ base }) => {
      rmSync(base)
      mkdirSync(base)
    },
  },
]

interface RecordFiles {
  readonly folder: string
  readonly base: string
  readonly revision: string
  readonly other: string
}

testOn(
  'sqlite',
  'D5 R1 ready is 503, and no record is written, while the records of an entity are lost',
  async t => {
    const service = await startService(t)
    await service.addEperson(admin, { admin: true })
    const client = service.client()
    await client.login(admin)
    const path = '/api/query/v4/artworks'
    const write = (method: string, key: string, body?: unknown) =>
      client.request(`${path}/${key}`, {
        method,
        headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    const entities = join(service.dataFolder, 'entities')
    const ready = () => readyOf(service)
    for (const { how, lose } of lostRecords) {
      for (const name of ['artworks', 'others'])
        await service.addRecords(name, 'id', [
          { id: 'A1', title: `Night of ${name}` },
          { id: 'A2', title: 'Noon' },
        ])
      await service.storage.entities.changeWriteRule(
        'artworks',
        'group:Administrator',
        commandEvent('entity.writers'),
      )
      await changeText(service, '{"id":"A2","title":"Dusk"}', {
        entity: 'artworks',
        kind: 'update',
      })
      const artworks = (await service.storage.entities.all()).get('artworks')
      assert.ok(artworks?.source.kind === 'records')
      const revision = artworks.source.version
      const fileOf = (version: string) => join(entities, `${version}.db`)
      const other = readdirSync(entities).find(name => name.startsWith('others.'))
      const files = {
        folder: entities,
        base: fileOf(revision.replace(/\.[^.]*$/, '')),
        revision: fileOf(revision),
        other: join(entities, other ?? ''),
      }
      const kept = new Map(readdirSync(entities).map(name => [name, readFileSync(join(entities, name))]))
      assert.equal((await write('PUT', 'A3', { title: 'Dawn' })).status, 201, how)
      await until('a service that is ready', ready, status => status === 200)
      lose(files)
      await until(`a service that isn't ready: ${how}`, ready, status => status === 503)
      for (const answer of [
        await write('PUT', 'A4', { title: 'Dawn' }),
        await write('PATCH', 'A3', { title: 'Evening' }),
        await write('DELETE', 'A1'),
      ]) {
        const text = await answer.text()
        assert.equal(answer.status, 503, `${how}: ${text}`)
        assert.ok(!text.includes(entities), text)
      }
      await assert.rejects(
        changeText(service, '{"id":"A2","title":"Dawn"}', {
          entity: 'artworks',
          kind: 'update',
        }),
        /put the file back|lost/,
        how,
      )
      rmSync(entities, { recursive: true, force: true })
      rmSync(aside(entities), { recursive: true, force: true })
      mkdirSync(entities)
      for (const [name, content] of kept) writeFileSync(join(entities, name), content)
      await until(`a service that is ready again: ${how}`, ready, status => status === 200)
      assert.equal((await write('DELETE', 'A3')).status, 204, how)
    }
  },
)

for (const engine of ['sqlite', 'postgres'] as const)
  testOn(
    engine,
    'D5 ready is 503 while the folder of files is missing or empty, if there are files',
    async t => {
      const service = await startService(t)
      const ready = async () => {
        const answer = await fetch(`${service.address}/health/ready`)
        return { status: answer.status, text: await answer.text() }
      }
      const filesFolder = folderOf(service.config.files)
      assert.equal((await ready()).status, 200)
      await addItem(service, { identifier: 'one', files: [{ name: 'one.txt', content: 'one' }] })
      assert.equal((await ready()).status, 200)
      renameSync(filesFolder, aside(filesFolder))
      const lost = await ready()
      assert.equal(lost.status, 503)
      assert.match(lost.text, /The files are missing\. The log says where\./)
      assert.ok(!lost.text.includes(filesFolder), 'its path is for the log')
      renameSync(aside(filesFolder), filesFolder)
      assert.equal((await ready()).status, 200)
    },
  )

testOn(
  'sqlite',
  'D18 a start warns that the folder of files, which the store expects, is not there',
  async t => {
    const service = await startService(t)
    await addItem(service, { identifier: 'one', files: [{ name: 'one.txt', content: 'one' }] })
    await service.stop()
    const elsewhere = join(temporaryFolder(t), 'another')
    const { output, address } = await serve(t, service.dataFolder, { env: { CARREL_FILES: elsewhere } })
    const said = output.stdout + output.stderr
    assert.match(
      said,
      /"fault":"the folder of files \S+another is missing or empty.*files can't be read or written"/,
    )
    assert.equal((await fetch(`${address}/health/ready`)).status, 503)
    const right = await serve(t, service.dataFolder)
    assert.doesNotMatch(right.output.stdout + right.output.stderr, /iles can't be read/)
  },
)
