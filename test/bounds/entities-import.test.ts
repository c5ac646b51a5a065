import assert from 'node:assert/strict'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { Client } from '../support/clients/client.ts'
import { openSocket } from '../support/clients/raw.ts'
import { isLong, repeats } from '../support/scale.ts'
import { test, testOn } from '../support/service/engines.ts'
import { carrel, peakMemory, type Served, serve } from '../support/service/process.ts'
import { passwordOf, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const megabyte = 1024 * 1024
const email = 'root@example.org'
const path = '/api/admin/entities'

interface Watched {
  readonly served: Served
  readonly client: Client
  readonly dataFolder: string
  readonly temporary: string
  /** Returns the service's peak memory so far, in MB. */
  memory(): number
  /** Returns the deleted files that the service holds open. */
  held(): string[]
  send(name: string, body: BodyInit, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** Returns the number of the entity's records; undefined if there is no such entity. */
  records(name: string): Promise<number | undefined>
}

async function watched(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Watched> {
  const dataFolder = temporaryFolder(t)
  const temporary = temporaryFolder(t, 'sqlite')
  const added = await carrel(dataFolder, ['eperson', 'add', email, '--admin', '--password-stdin'], {
    input: passwordOf(email),
  })
  assert.equal(added.code, 0, added.stderr)
  const served = await serve(t, dataFolder, { env: { CARREL_WORKERS: '1', TMPDIR: temporary, ...env } })
  const client = new Client(served.address)
  await client.login(email)
  return {
    ...{ served, client, dataFolder, temporary },
    memory: () => peakMemory(served.pid),
    held: () => heldBy(served.pid),
    send: async (name, body, headers = {}) =>
      client.request(`${path}/${name}`, {
        ...{ method: 'POST', body, duplex: 'half' },
        headers: {
          ...{ 'content-type': 'application/x-ndjson', 'x-xsrf-token': (await client.csrfPair()).value },
          ...headers,
        },
      } as RequestInit),
    records: async name => {
      const response = await client.get(`${path}/${name}`)
      const body = (await response.json()) as { records: number }
      return response.status === 200 ? body.records : undefined
    },
  }
}

const heldBy = (pid: number): string[] => {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).flatMap(name => {
    try {
      const file = readlinkSync(join(folder, name))
      return /\/upload-[\w-]+ \(deleted\)$/.test(file) ? [file] : []
    } catch {
      return []
    }
  })
}

/** Returns the processes that a process has started. */
const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )

const untilRecords = ({ records }: Watched, name: string, count: number) =>
  until(
    `${count} records of ${name}`,
    () => records(name),
    seen => seen === count,
  )

const untilHeld = ({ held }: Watched, count: number) =>
  until(`${count} files that the service holds`, held, files => files.length === count)

const untilEnded = (pids: readonly number[]) =>
  until(
    'the end of the processes that import',
    () => pids.filter(isRunning),
    left => left.length === 0,
  )

const untilChildren = ({ served }: Watched) =>
  until(
    'a process that reads the records',
    () => childrenOf(served.pid),
    children => children.length > 0,
  )

const leftovers = ({ dataFolder, temporary }: Watched) =>
  [dataFolder, temporary].flatMap(folder =>
    readdirSync(folder, { recursive: true })
      .map(String)
      .filter(name => /upload-|staging|\.input|\.tmp/.test(name)),
  )

/** Streams records of a megabyte each. */
function large(megabytes: number): ReadableStream {
  const text = Buffer.from(`","text":"${'x'.repeat(megabyte - 30)}"}\n`)
  let n = 0
  return new ReadableStream({
    pull: controller => {
      if (n === megabytes) return controller.close()
      controller.enqueue(Buffer.concat([Buffer.from(`{"id":"${n++}`), text]))
    },
  })
}

/** Size of the import in MB, which is more than the service may grow by. */
const imported = repeats(72, 300)

test(`EA7 an import of ${imported} MB takes no more of the memory of the service than a small one`, async t => {
  const one = await watched(t)
  const small = await one.send('small/import?key=id', large(3))
  assert.equal(small.status, 202, await small.text())
  await untilRecords(one, 'small', 3)
  const before = one.memory()
  const response = await one.send('large/import?key=id', large(imported))
  assert.equal(response.status, 202, await response.text())
  await untilRecords(one, 'large', imported)
  const grown = one.memory() - before
  assert.ok(grown < 64, `${grown} MB more than the ${before} MB before`)
  await untilHeld(one, 0)
  assert.deepEqual(leftovers(one), [])
})

/** Returns the beginning of a request with a body of this number of bytes. */
async function beginning({ served, client }: Watched, name: string, length: number): Promise<string> {
  const { cookie, value } = await client.csrfPair()
  return [
    `POST ${path}/${name}/import?key=id HTTP/1.1`,
    `Host: ${new URL(served.address).host}`,
    `Authorization: Bearer ${client.token}`,
    `X-XSRF-TOKEN: ${value}`,
    `Cookie: ${cookie}`,
    'Content-Type: application/x-ndjson',
    `Content-Length: ${length}`,
    '\r\n',
  ].join('\r\n')
}

test('EA7 a connection that breaks in the middle leaves nothing, and the entity is free at once', async t => {
  const one = await watched(t)
  const socket = openSocket(one.served.address)
  socket.write(await beginning(one, 'books', 10 * megabyte))
  socket.write(`{"id":1,"text":"${'x'.repeat(3 * megabyte)}"}\n`)
  await untilHeld(one, 1)
  assert.equal((await one.send('books/import?key=id', '{"id":1}')).status, 409)
  socket.resetAndDestroy()
  await untilHeld(one, 0)
  assert.deepEqual(leftovers(one), [])
  assert.equal(await one.records('books'), undefined)
  assert.equal((await one.send('books/import?key=id', '{"id":1}')).status, 202)
  await untilRecords(one, 'books', 1)
})

/** Number of records, of which four are sent per second, so that the body takes longer than a request may. */
const slowRecords = repeats(6, 12)

test('EA7 E2 a body may take longer than a request, as long as it goes on; one that stops gets 408', async t => {
  const one = await watched(t, { CARREL_REQUEST_TIMEOUT: '1' })
  // A machine that pauses interrupts the body, too; the test then sends it again.
  await until(
    'a body that takes longer, and is taken',
    async () => {
      async function* slowly() {
        for (let id = 0; id < slowRecords; id++) {
          yield Buffer.from(`{"id":${id}}\n`)
          await delay(250)
        }
      }
      const slow = await one.send(
        'books/import?key=id',
        Readable.toWeb(Readable.from(slowly())) as ReadableStream,
      )
      return { status: slow.status, text: await slow.text() }
    },
    ({ status }) => status === 202,
  )
  await untilRecords(one, 'books', slowRecords)

  const socket = openSocket(one.served.address)
  let answer = ''
  socket.on('data', chunk => {
    answer += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise(resolve => {
    socket.once('close', resolve)
  })
  socket.write(await beginning(one, 'stopped', 1_000))
  socket.write('{"id":1}')
  await closed
  assert.match(answer, /^HTTP\/1\.1 408 [^{]+\{.*"code":"request-timeout".*Nothing of the body came for 1 s/s)
  assert.deepEqual(one.held(), [])
})

test('EA7 what unpacks to far more than it is ends its import, not the service', async t => {
  const one = await watched(t)
  // The ratio is checked only for bodies that unpack to more than 64 MB.
  const bomb = gzipSync(`{"id":1,"text":"${'x'.repeat(10_000)}"}\n`.repeat(6_800), { level: 9 })
  const before = one.memory()
  if (isLong) {
    const preview = await one.send('bomb/import?key=id&preview=true', bomb)
    const { faults } = (await preview.json()) as { faults: { message: string }[] }
    assert.match(faults[0]?.message ?? '', /unpacks to more than 150 times its size/)
    const many = gzipSync(`{"id":1}\n${'\n'.repeat(90 * megabyte)}`, { level: 9 })
    const blank = await one.send('bomb/import?key=id&preview=true', many)
    assert.equal(((await blank.json()) as { faults: unknown[] }).faults.length, 1)
  }
  const begun = await one.send('bomb/import?key=id', bomb)
  assert.equal(begun.status, 202)
  await untilHeld(one, 0)
  const { processId } = (await begun.json()) as { processId: string }
  await until(
    'an import that says why it failed',
    async () =>
      ((await (await one.client.get(`/api/system/processes/${processId}`)).json()) as { fault: string })
        .fault,
    fault => /unpacks to more than 150 times its size/.test(fault),
  )
  assert.equal(await one.records('bomb'), undefined)
  assert.ok(one.memory() - before < 64, `${one.memory() - before} MB`)
  assert.deepEqual(leftovers(one), [])
})

for (const signal of ['SIGKILL', 'SIGTERM'] as const)
  test(`EA7 when the service gets ${signal} in the middle of an import, the import ends, and nothing is left`, async t => {
    const one = await watched(t)
    const response = await one.send('large/import?key=id', large(repeats(60, 200)))
    assert.equal(response.status, 202, await response.text())
    const children = await untilChildren(one)
    one.served.signal(signal)
    await one.served.ended
    await untilEnded(children)
    const listed = await carrel(one.dataFolder, ['entity', 'list', '--json'])
    assert.ok(!listed.stdout.includes('"large"'), 'nothing was published')
    assert.deepEqual(leftovers(one), [])
  })

function isRunning(pid: number): boolean {
  try {
    // A process that has ended but wasn't collected has no command line.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}

testOn('sqlite', 'EA7 a preview ends with the connection that asked for it', async t => {
  const one = await watched(t)
  const ending = new AbortController()
  const asked = one.client.request(`${path}/large/import?key=id&preview=true`, {
    ...{ method: 'POST', body: large(repeats(50, 150)), duplex: 'half', signal: ending.signal },
    headers: {
      'content-type': 'application/x-ndjson',
      'x-xsrf-token': (await one.client.csrfPair()).value,
    },
  } as RequestInit)
  asked.catch(() => {})
  const children = await untilChildren(one)
  ending.abort()
  await untilEnded(children)
  await untilHeld(one, 0)
})
