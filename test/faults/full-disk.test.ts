import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { bearerOf, Client } from '../support/clients/client.ts'
import { list } from '../support/clients/listings.ts'
import type { Event } from '../support/data/events.ts'
import { ndjson } from '../support/data/imports.ts'
import { repeats } from '../support/scale.ts'
import {
  carrelProgram,
  eventCounts,
  fill,
  letters,
  type SmallDisk,
  smallDisk,
} from '../support/service/faults.ts'
import { cleanEnvironment, type Finished, run, serve, withoutProgress } from '../support/service/process.ts'
import { passwordOf, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const epersons = ['a', 'b', 'c'].map(name => `${name}@example.org`)
const admin = 'admin@example.org'
const oldRecords = letters(500, 'old')

/** Starts a service on a small disk. */
async function startOnSmallDisk(t: TestContext) {
  const prepared = temporaryFolder(t)
  const uuids = await fill(
    t,
    { CARREL_DATA: prepared },
    { epersons, administrator: admin, letters: oldRecords },
  )
  const disk = await smallDisk(t, 12, prepared)
  const start = () => serve(t, disk.folder, { program: [...disk.enter, ...carrelProgram] })
  return { disk, uuids, start, served: await start() }
}

const carrelOn = ({ enter, folder }: SmallDisk, ...args: string[]): Promise<Finished> => {
  const [program, ...rest] = [...enter, ...carrelProgram, ...args] as [string, ...string[]]
  return run(program, rest, { env: cleanEnvironment({ CARREL_DATA: folder }) })
}

function assertSaysFull({ code, stdout, stderr }: Finished): void {
  assert.match(withoutProgress(stderr), /^carrel: .*the disk is full.*\n$/)
  assert.equal(stdout, '')
  assert.equal(code, 1)
}

/** The answers that one eperson's client received. All of them are certain. */
interface Told {
  readonly email: string
  readonly counts: Record<'login' | 'logout', { done: number; refused: number }>
  readonly ended: string[]
  valid: string[]
}

/** Logs in and out until it is told to stop, and checks the tokens against the answers. */
async function keepBusy(address: string, told: Told, isOver: () => boolean): Promise<void> {
  const client = new Client(address)
  const count = async (name: keyof Told['counts'], response: Response, status: number) => {
    const body = await response.text()
    assert.ok(response.status === status || response.status === 503, `${name}: ${response.status} ${body}`)
    told.counts[name][response.status === status ? 'done' : 'refused']++
    if (response.status === 503) assert.match(response.headers.get('retry-after') ?? '', /^\d+$/)
    return response.status === status
  }
  while (!isOver()) {
    client.token = undefined
    const login = await client.tryLogin(told.email, passwordOf(told.email))
    if (await count('login', login, 200)) told.valid.push(bearerOf(login))
    client.token = told.valid.at(-1)
    if (client.token !== undefined && told.valid.length > 1) {
      const logout = await client.post('/api/authn/logout')
      if (await count('logout', logout, 204)) {
        told.ended.push(...told.valid)
        told.valid = []
      }
    }
    const { ended, valid } = told
    if (valid.length > 0) assert.equal(await client.isLoggedIn(valid.at(-1)), true)
    if (ended.length > 0) assert.equal(await client.isLoggedIn(ended.at(-1)), false)
    assert.equal((await list(client, 'letters', { offset: 7, limit: 5 })).length, 5)
  }
}

test('E2 D4 a full disk refuses changes with 503, keeps what was acknowledged, and works again when there is room', async t => {
  const { disk, uuids, start, served } = await startOnSmallDisk(t)
  const all = epersons.map((email): Told => {
    const counts = { login: { done: 0, refused: 0 }, logout: { done: 0, refused: 0 } }
    return { email, counts, ended: [], valid: [] }
  })
  const client = new Client(served.address)
  const adminToken = await client.login(admin)
  const sum = (kind: 'done' | 'refused', name: keyof Told['counts']) =>
    all.reduce((total, { counts }) => total + counts[name][kind], 0)

  async function assertKept(address: string): Promise<void> {
    const asker = new Client(address)
    asker.token = adminToken
    assert.equal(await asker.isLoggedIn(), true)
    const events = await list<Event>(asker, 'audit-events')
    for (const { email, counts, ended, valid } of all) {
      for (const name of ['login', 'logout'] as const)
        assert.equal(eventCounts(events, uuids.get(email), name), counts[name].done, `${name}s of ${email}`)
      for (const token of ended) assert.equal(await asker.isLoggedIn(token), false, `${email} logged out`)
      for (const token of valid) assert.equal(await asker.isLoggedIn(token), true, `${email} is logged in`)
    }
  }

  for (let round = 0; round < 2; round++) {
    let isOver = false
    const load = Promise.all(all.map(told => keepBusy(served.address, told, () => isOver)))
    const come = (what: string, isReached: () => boolean) =>
      Promise.race([
        until(
          what,
          () => all.map(({ counts }) => counts),
          () => isReached(),
        ),
        load,
      ])
    const begun = sum('done', 'logout')
    await come('logouts', () => sum('done', 'logout') > begun + 1)
    disk.fill()
    const [logins, logouts] = [sum('refused', 'login'), sum('refused', 'logout')]
    await come('refused logins', () => sum('refused', 'login') > logins + 3)
    // Clients with a token try to log out; without tokens, there is nothing to refuse.
    await come(
      'refused logouts',
      () => sum('refused', 'logout') > logouts + 1 || all.every(({ valid }) => valid.length < 2),
    )
    assert.equal((await client.get('/health/live')).status, 200)
    assert.deepEqual(await list(client, 'letters'), oldRecords)
    if (round === 0) {
      disk.free()
      const done = sum('done', 'logout')
      await come('logouts where there is room again', () => sum('done', 'logout') > done + 3)
    }
    isOver = true
    await load
    await assertKept(served.address)
  }

  served.signal('SIGKILL')
  await served.ended
  disk.free()
  const again = await start()
  await assertKept(again.address)
  assert.equal((await new Client(again.address).tryLogin(admin, passwordOf(admin))).status, 200)
  assert.equal(await again.stop(), 0)
})

test('D2 an import without room fails in one line and changes nothing, whatever it was at', async t => {
  const { disk, served } = await startOnSmallDisk(t)
  const client = new Client(served.address)
  const newRecords = letters(8_000, 'new '.repeat(20))
  const file = join(temporaryFolder(t), 'letters.ndjson')
  writeFileSync(file, ndjson(newRecords))
  const entities = join(disk.inside, 'entities')
  const before = readdirSync(entities).sort()
  assert.deepEqual(await list(client, 'letters'), oldRecords)

  let failures = 0
  for (let room = 0; ; room += repeats(600_000, 300_000)) {
    assert.ok(room < 8_000_000, 'it fits some time')
    disk.fill(room)
    const finished = await carrelOn(disk, 'import', file, '--entity=letters', '--key=id', '--read=anonymous')
    if (finished.code === 0) break
    assertSaysFull(finished)
    assert.deepEqual(readdirSync(entities).sort(), before, `with room for ${room} bytes`)
    assert.deepEqual(await list(client, 'letters'), oldRecords)
    failures++
  }
  t.diagnostic(`there was no room ${failures} times`)
  assert.ok(failures > 3)
  assert.deepEqual(await list(client, 'letters'), newRecords)
  assert.equal(await served.stop(), 0)
})

test('D1 a command without room says so in one line and changes nothing', async t => {
  const { disk, start, served } = await startOnSmallDisk(t)
  const client = new Client(served.address)
  const token = await client.login(admin)
  const secret = readFileSync(join(disk.inside, 'secret'), 'utf8')
  const before = readdirSync(disk.inside).sort()
  disk.fill()
  assertSaysFull(await carrelOn(disk, 'group', 'add', 'Readers'))
  assertSaysFull(await carrelOn(disk, 'secret', 'rotate'))
  assertSaysFull(await carrelOn(disk, 'eperson', 'disable', admin))
  disk.free()
  assert.equal(readFileSync(join(disk.inside, 'secret'), 'utf8'), secret)
  assert.deepEqual(readdirSync(disk.inside).sort(), before)
  assert.equal(await client.isLoggedIn(token), true)
  assert.deepEqual(
    (await list<{ name: string }>(client, 'groups')).map(({ name }) => name),
    ['Administrator'],
  )
  assert.equal((await carrelOn(disk, 'group', 'add', 'Readers')).code, 0)
  assert.equal(await served.stop(), 0)

  disk.fill()
  assertSaysFull(await carrelOn(disk, 'serve'))
  disk.free()
  assert.equal(await new Client((await start()).address).isLoggedIn(token), true)
})

test('D1 a store is made whole or not at all where there is no room for it', async t => {
  const disk = await smallDisk(t, 2)
  // The first steps leave little room; the last leave enough for everything.
  const rooms = [0, 4_096, 20_480, ...Array.from({ length: 15 }, (_, step) => 131_072 * (step + 1))]
  let failures = 0
  for (const room of rooms) {
    disk.fill(room)
    const { stderr, ...finished } = await carrelOn(disk, 'group', 'add', 'Readers')
    if (finished.code === 0) break
    // The store may have been created, and only the group have failed.
    assertSaysFull({ ...finished, stderr: stderr.replace(/^carrel: created a new store in .*\n/, '') })
    failures++
  }
  assert.ok(failures > 3 && failures < rooms.length)
  disk.free()
  const { stdout } = await carrelOn(disk, 'group', 'list', '--json')
  assert.deepEqual(
    (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name),
    ['Administrator', 'Readers'],
  )
})
