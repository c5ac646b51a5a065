import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext } from 'node:test'
import { toConfig } from '../../src/config/config.ts'
import { Client } from '../support/clients/client.ts'
import { secretsOf, spellingsOf } from '../support/clients/jwt.ts'
import { openSocket } from '../support/clients/raw.ts'
import { createDatabase } from '../support/service/databases.ts'
import { engineIn, test, testOn, testWithoutStore, useDatabase } from '../support/service/engines.ts'
import {
  asTerminal,
  carrel,
  carrelProcess,
  cleanEnvironment,
  entry,
  type Served,
  serve,
  sources,
} from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { inTime, until } from '../support/service/waiting.ts'
import { endings } from '../support/service/workers.ts'

const graceToFinish = toConfig({}).stop.grace

const ruth = 'ruth@example.org'

const onTerminal = asTerminal('stdout')

/** Options with a log on standard output and a terminal on standard error. */
const logging = {
  args: ['--demo'],
  program: [process.execPath, '--import', asTerminal('stderr'), entry],
} as const

/** Returns the lines of the service's log, parsed from JSON. */
const linesOf = ({ output }: Served) =>
  output.stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Readonly<Record<string, unknown>>)

/** Creates a data folder with ruth and with letters that are larger than the network's buffers. */
async function withLargeListing(t: TestContext): Promise<{ dataFolder: string; records: number }> {
  const dataFolder = temporaryFolder(t)
  const service = await startService(t, { dataFolder })
  await service.addEperson(ruth)
  const records = Array.from({ length: 2_000 }, (_, id) => ({ id, text: 'x'.repeat(10_000) }))
  await service.addRecords('letters', 'id', records)
  return { dataFolder, records: records.length }
}

/** Requests all letters and stops reading after the first bytes. */
async function startSlowListing(served: Served) {
  const socket = openSocket(served.address)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write('GET /api/query/v4/letters HTTP/1.1\r\nHost: service.test\r\nConnection: close\r\n\r\n')
  await once(socket, 'data')
  socket.pause()
  return {
    socket,
    /** Reads the rest. @returns the records */
    finish: async (): Promise<unknown> => {
      socket.resume()
      await once(socket, 'close')
      const text = Buffer.concat(chunks).toString('latin1')
      const at = text.indexOf('\r\n\r\n')
      assert.match(text.slice(0, at), /^HTTP\/1\.1 200 /)
      assert.match(text.slice(0, at), /transfer-encoding: chunked/i)
      let body = ''
      for (let from = at + 4; ; ) {
        const line = text.indexOf('\r\n', from)
        assert.ok(line > 0, 'the listing ends with its last chunk')
        const size = Number.parseInt(text.slice(from, line), 16)
        if (size === 0) return JSON.parse(body)
        body += text.slice(line + 2, line + 2 + size)
        from = line + 2 + size + 2
      }
    },
  }
}

const refuses = ({ address }: Served) =>
  until(
    'a service that takes no connections',
    async () => {
      const socket = openSocket(address)
      const accepted = await new Promise<boolean>(resolve => {
        socket.on('connect', () => resolve(true))
        socket.on('error', () => resolve(false))
      })
      socket.destroy()
      return accepted
    },
    accepted => !accepted,
  )

describe('serve', { concurrency: 2 }, () => {
  // This test and a listing below wait for ten seconds each. They are apart, so that others run meanwhile.
  testOn('sqlite', 'D4 D10 SIGTERM ends a service of which a worker answers nothing any more', async t => {
    const ends = endings(t)
    const served = await serve(t, temporaryFolder(t), { env: { CARREL_WORKERS: '2', ...ends.env } })
    await ends.stall()
    assert.equal(await served.stop(), 0)
  })

  test('D4 serve prints one line with the address, once it really answers, and all its lines are JSON', async t => {
    const dataFolder = temporaryFolder(t)
    const served = await serve(t, dataFolder, { env: { CARREL_LOG_LEVEL: 'info', CARREL_WORKERS: '2' } })
    const [ready] = linesOf(served)
    const { address, listening, level, msg } = ready ?? {}
    assert.deepEqual([level, msg], [30, 'ready'])
    assert.equal(`http://${listening}`, served.address)
    const response = await fetch(String(address))
    assert.equal(response.status, 200)
    const body = (await response.json()) as { _links: { self: { href: string } } }
    assert.equal(body._links.self.href, address)
    assert.equal(await served.stop(), 0)
    const lines = linesOf(served)
    assert.equal(lines.filter(line => 'address' in line).length, 1)
    assert.ok(!lines.some(line => /Server listening/.test(String(line.msg))), 'none of the framework')
    for (const { level, time, pid, hostname, msg } of lines) {
      assert.deepEqual([typeof level, typeof time, pid], ['number', 'number', served.pid])
      assert.ok(hostname && msg)
    }
    assert.equal(served.output.stderr, '')
  })

  testOn('sqlite', 'D4 the line with the address says that not all workers run yet', async t => {
    const env = { CARREL_WORKERS: '3' }
    const served = await serve(t, temporaryFolder(t), { env, waitsForWorkers: false })
    assert.deepEqual(linesOf(served)[0]?.workers, { running: 1, wanted: 3 })
    assert.equal(await served.stop(), 0)
  })

  testOn('sqlite', 'D4 on a terminal serve says the same in sentences', async t => {
    const dataFolder = temporaryFolder(t)
    const program = [process.execPath, '--import', onTerminal, entry] as const
    const child = spawn(program[0], [...program.slice(1), 'serve'], {
      env: cleanEnvironment({ CARREL_DATA: dataFolder, CARREL_PORT: '0' }),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    let output = ''
    for await (const chunk of child.stdout) {
      output += chunk
      if (output.split('\n').length === 4) child.kill('SIGTERM')
    }
    const [ready = '', created, administrator, ...rest] = output.split('\n')
    assert.match(
      ready,
      /^Carrel answers at (http:\/\/localhost:\d+\/) \(API: \1api, listening on 127\.0\.0\.1:\d+\)\.$/,
    )
    assert.equal(created, `Created a new store in ${dataFolder}.`)
    assert.equal(
      administrator,
      'There is no administrator. To add one, run `carrel eperson add <email> --admin`.',
    )
    assert.match(
      rest.join('\n'),
      /^Stopping because of SIGTERM; requests under way: 0\.\nStopped after \d+\.\d s; requests cut: 0\.\n$/,
    )
  })

  test('D4 D6 serve says that it created the store, and how to add an administrator while there is none', async t => {
    const dataFolder = temporaryFolder(t)
    if (engineIn(t) === 'postgres') useDatabase(t, join(dataFolder, 'new'), createDatabase)
    const folder = engineIn(t) === 'postgres' ? join(dataFolder, 'new') : dataFolder
    const start = async () => {
      const served = await serve(t, folder)
      await fetch(`${served.address}/api`)
      assert.equal(await served.stop(), 0)
      return linesOf(served).filter(({ msg }) => !/^stopp/.test(String(msg)))
    }
    const [, created, warning, ...rest] = await start()
    assert.deepEqual([created?.level, created?.msg], [30, 'created a new store'])
    assert.deepEqual([warning?.level, rest], [40, []])
    assert.match(String(warning?.msg), /^there is no administrator; .*`carrel eperson add <email> --admin`/)
    await carrel(folder, ['eperson', 'add', ruth])
    assert.deepEqual(
      (await start()).map(({ level }) => level),
      [30, 40],
    )
    await carrel(folder, ['eperson', 'add', 'admin@example.org', '--admin'])
    assert.deepEqual(
      (await start()).map(({ msg }) => msg),
      ['ready'],
    )
  })

  testOn('sqlite', 'D4 a service says that others use its folder, however these ended before', async t => {
    const dataFolder = temporaryFolder(t)
    const told = ({ output }: Served) => /another service uses the store, too/.test(output.stdout)
    const first = await serve(t, dataFolder)
    const second = await serve(t, dataFolder)
    await second.said(/another service uses the store, too/)
    first.signal('SIGKILL')
    await first.ended
    // The second service has the second mark, and the first one is free.
    const third = await serve(t, dataFolder)
    await third.said(/another service uses the store, too/)
    for (const one of [second, third]) {
      one.signal('SIGKILL')
      await one.ended
    }
    assert.equal(told(first), false)
    const alone = await serve(t, dataFolder)
    assert.equal(await alone.stop(), 0)
    assert.equal(told(alone), false)
    // Services that start at the same time: the last one to mark the folder sees the others.
    const both = await Promise.all([serve(t, dataFolder), serve(t, dataFolder)])
    for (const one of both) assert.equal(await one.stop(), 0)
    assert.ok(both.some(told))
    const again = await serve(t, dataFolder)
    assert.equal(await again.stop(), 0)
    assert.equal(told(again), false)
  })

  test('D4 SIGTERM lets a listing that is under way finish, takes nothing new, and is exit code 0', async t => {
    const { dataFolder, records } = await withLargeListing(t)
    await inTime(graceToFinish, async () => {
      const served = await serve(t, dataFolder)
      const listing = await startSlowListing(served)
      served.signal('SIGTERM')
      await refuses(served)
      const letters = (await listing.finish()) as { id: number }[]
      assert.equal(letters.length, records)
      assert.deepEqual(
        letters.map(letter => letter.id),
        Array.from({ length: records }, (_, id) => id),
      )
      assert.deepEqual(await served.ended, { code: 0, signal: null })
      assert.equal(served.output.stderr, '')
    })
  })

  test('D4 SIGTERM does not wait for ever for a client that does not read', async t => {
    const { dataFolder } = await withLargeListing(t)
    const served = await serve(t, dataFolder)
    const listing = await startSlowListing(served)
    listing.socket.on('error', () => {})
    t.after(() => listing.socket.destroy())
    served.signal('SIGTERM')
    assert.deepEqual(await served.ended, { code: 0, signal: null })
    listing.socket.resume()
    await once(listing.socket, 'close')
  })

  test('D4 SIGTERM lets a login that is under way finish', async t => {
    const dataFolder = temporaryFolder(t)
    await (await startService(t, { dataFolder })).addEperson(ruth)
    await inTime(graceToFinish, async () => {
      const served = await serve(t, dataFolder)
      const client = new Client(served.address)
      await client.csrfPair()
      const logins = Array.from({ length: 6 }, () => client.tryLogin(ruth, `secret of ${ruth}`))
      // The first answer shows that the others are under way: they were sent together and wait for their
      // turn.
      await Promise.race(logins)
      served.signal('SIGTERM')
      const answers = await Promise.all(logins)
      assert.deepEqual(
        answers.map(({ status }) => status),
        answers.map(() => 200),
      )
      assert.deepEqual(await served.ended, { code: 0, signal: null })
    })
  })

  testOn('sqlite', 'D4 SIGINT stops it, too', async t => {
    const served = await serve(t, temporaryFolder(t))
    served.signal('SIGINT')
    assert.deepEqual(await served.ended, { code: 0, signal: null })
  })

  test('D4 a second start on the same data goes on where the first has stopped', async t => {
    const dataFolder = temporaryFolder(t)
    const first = await serve(t, dataFolder)
    const { stdout } = await carrel(dataFolder, ['eperson', 'add', ruth])
    const password = /Password: (\S+)/.exec(stdout)?.[1] ?? ''
    const client = new Client(first.address)
    const response = await client.tryLogin(ruth, password)
    const token = response.headers.get('authorization')?.slice('Bearer '.length)
    assert.equal(await client.isLoggedIn(token), true)
    assert.equal(await first.stop(), 0)
    const second = await serve(t, dataFolder)
    const again = new Client(second.address)
    assert.equal(await again.isLoggedIn(token), true)
    assert.equal((await again.tryLogin(ruth, password)).status, 200)
    assert.equal(await second.stop(), 0)
  })

  test('D1 a port that is taken stops the start with one line and exit code 1', async t => {
    const other = createServer()
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => other.close())
    const address = other.address()
    const port = typeof address === 'object' && address ? String(address.port) : ''
    const done = await carrelProcess(temporaryFolder(t), ['serve'], { env: { CARREL_PORT: port } })
    assert.equal(done.code, 1)
    assert.equal(done.stdout, '')
    assert.match(done.stderr, /^carrel: [^\n]*CARREL_PORT[^\n]*\n$/)
    assert.ok(done.stderr.includes(port))
  })

  for (const port of ['0', '48080'])
    testOn(
      'sqlite',
      `D1 an address that the machine does not have stops the start with one line (port ${port})`,
      async t => {
        // 192.0.2.0/24 is assigned to no machine (RFC 5737).
        const env = { CARREL_HOST: '192.0.2.1', CARREL_PORT: port }
        const done = await carrelProcess(temporaryFolder(t), ['serve'], { env })
        assert.equal(done.code, 1)
        assert.equal(done.stdout, '')
        assert.match(done.stderr, /^carrel: [^\n]*CARREL_HOST[^\n]*\n$/)
      },
    )

  testWithoutStore('D3 wrong settings stop the start with the name of the key and exit code 2', async t => {
    const folder = temporaryFolder(t)
    const CARREL_CONFIG = join(folder, 'carrel.json')
    writeFileSync(CARREL_CONFIG, JSON.stringify({ specialGroups: { ip: [{ group: 'Campus' }] } }))
    const dataFolder = join(folder, 'data')
    for (const [env, says] of [
      [{ CARREL_PORT: 'http' }, /CARREL_PORT.*port number/],
      [{ CARREL_CONFIG }, /specialGroups.*ranges/],
    ] as const) {
      const done = await carrelProcess(dataFolder, ['serve'], { env })
      assert.equal(done.code, 2)
      assert.equal(done.stdout, '')
      assert.match(done.stderr, /^carrel: [^\n]+\n$/)
      assert.match(done.stderr, says)
    }
    assert.equal(statSync(dataFolder, { throwIfNoEntry: false }), undefined, 'no data was touched')
  })

  testOn('sqlite', 'D3 the file that CARREL_CONFIG names sets special groups', async t => {
    const folder = temporaryFolder(t)
    const CARREL_CONFIG = join(folder, 'carrel.json')
    const specialGroups = {
      ip: [
        { group: 'Campus', ranges: ['127.0.0.0/8'] },
        { group: 'Elsewhere', ranges: ['127.0.0.0/8', '!127.0.0.1'] },
      ],
    }
    writeFileSync(CARREL_CONFIG, JSON.stringify({ CARREL_REALM: 'Of the file', specialGroups }))
    const served = await serve(t, folder, { env: { CARREL_CONFIG } })
    const response = await fetch(`${served.address}/api/authn/status`)
    assert.equal(response.headers.get('www-authenticate'), 'password realm="Of the file"')
    const status = (await response.json()) as {
      _embedded: { specialGroups: { _embedded: { specialGroups: { name: string }[] } } }
    }
    assert.deepEqual(
      status._embedded.specialGroups._embedded.specialGroups.map(group => group.name),
      ['Campus'],
    )
  })

  test('D3 the secret is never printed, neither a configured nor a generated one', async t => {
    const secret = 'kR7vQ2mX9pL4wZ8tB6nY1cF5hJ3gD0sA'
    const configured = await serve(t, temporaryFolder(t), {
      env: { CARREL_TOKEN_SECRET: secret, CARREL_LOG_LEVEL: 'info' },
    })
    const dataFolder = temporaryFolder(t)
    const generated = await serve(t, dataFolder, { env: { CARREL_LOG_LEVEL: 'info' } })
    for (const { address } of [configured, generated]) await fetch(`${address}/api/authn/status`)
    assert.equal(await configured.stop(), 0)
    assert.equal(await generated.stop(), 0)
    assert.ok(!JSON.stringify(configured.output).includes(secret))
    const [known] = await secretsOf(dataFolder)
    assert.equal(known?.length, 32)
    for (const spelling of spellingsOf(known)) assert.ok(!JSON.stringify(generated.output).includes(spelling))
    const short = await carrelProcess(temporaryFolder(t), ['serve'], {
      env: { CARREL_TOKEN_SECRET: `${secret},verysecret` },
    })
    assert.equal(short.code, 2)
    assert.match(short.stderr, /CARREL_TOKEN_SECRET/)
    assert.doesNotMatch(short.stderr, /verysecret/)
    assert.ok(!short.stderr.includes(secret))
  })

  test('L10 L11 D4 serve --demo prints credentials and a link that logs in once, at the first start', async t => {
    const dataFolder = temporaryFolder(t)
    const first = await serve(t, dataFolder, logging)
    await first.said(introduction)
    const credentials = credentialsIn(first.output.stderr)
    assert.deepEqual(
      credentials.map(({ email }) => email),
      ['admin@example.org', 'reader@example.org', 'curator@example.org'],
    )
    const open = await fetch(`${first.address}/api/query/v4/letters?limit=1&include_total=true`)
    assert.equal(open.headers.get('x-records'), '10000', 'everybody may read the letters')
    const closed = async (entity: string) => (await fetch(`${first.address}/api/query/v4/${entity}`)).status
    assert.deepEqual(await Promise.all(['visits', 'appraisals'].map(closed)), [401, 401])
    const [, link = ''] = /http:\S+\/console\/login#link=(\S+)/.exec(first.output.stderr) ?? []
    const client = new Client(first.address)
    assert.equal((await client.postForm('/api/authn/login', `link=${link}`)).status, 200)
    assert.equal((await client.postForm('/api/authn/login', `link=${link}`)).status, 401, 'a link works once')
    assert.ok(!first.output.stdout.includes(link), 'not in a log')

    const logins = async (served: Served) => {
      const statuses: number[] = []
      for (const { email, password } of credentials)
        statuses.push((await new Client(served.address).tryLogin(email, password)).status)
      return statuses
    }
    assert.deepEqual(await logins(first), [200, 200, 200])
    assert.equal(await first.stop(), 0)

    const again = await serve(t, dataFolder, { args: ['--demo'] })
    assert.deepEqual(await logins(again), [200, 200, 200])
    assert.equal(await again.stop(), 0)
    assert.deepEqual(
      linesOf(again).map(({ msg }) => msg),
      ['ready', 'the store was in use before: no demo was added', 'stopping', 'stopped'],
    )
    assert.equal(again.output.stderr, '', 'no credentials')
    for (const { password } of credentials) assert.ok(!first.output.stdout.includes(password), 'not in a log')

    // The generation of passwords doesn't depend on the store.
    if (engineIn(t) !== 'sqlite') return
    const other = await serve(t, temporaryFolder(t), logging)
    await other.said(introduction)
    const all = [...credentials, ...credentialsIn(other.output.stderr)].map(({ password }) => password)
    assert.equal(new Set(all).size, 6, 'six passwords, all different')
    assert.equal(await other.stop(), 0)
  })
})

testWithoutStore(
  'L10 D1 without a terminal serve --demo shows no passwords, and says how to set one, in a checkout as npm takes commands',
  async t => {
    const dataFolder = temporaryFolder(t)
    const env = { npm_package_name: 'carrel', npm_lifecycle_event: 'start', CARREL_WORKERS: '2' }
    const program = [process.execPath, sources] as const
    const served = await serve(t, dataFolder, { args: ['--demo'], env, program })
    await served.said(introduction)
    assert.deepEqual(credentialsIn(served.output.stderr), [])
    assert.match(served.output.stderr, /^ {2}reader@example\.org +Readers$/m)
    assert.match(served.output.stderr, /eperson password <email>/)
    assert.match(served.output.stderr, /`npm run --silent carrel -- eperson password/)
    assert.doesNotMatch(served.output.stderr, /#link=/)
    const set = await carrelProcess(dataFolder, ['eperson', 'password', 'reader@example.org'])
    const password = /Password: (\S+)/.exec(set.stdout)?.[1] ?? ''
    assert.equal((await new Client(served.address).tryLogin('reader@example.org', password)).status, 200)
    assert.equal(await served.stop(), 0)
  },
)

/** The end of the introduction. */
const introduction = /^README\.md says.*\n/m

const credentialsIn = (text: string) =>
  [...text.matchAll(/^ {2}(\S+@example\.org) +(\S+) +\S+$/gm)].map(([, email = '', password = '']) => ({
    email,
    password,
  }))
