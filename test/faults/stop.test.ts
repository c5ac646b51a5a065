import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openSocket } from '../support/clients/raw.ts'
import { isLong } from '../support/scale.ts'
import { atEnd } from '../support/service/at-end.ts'
import { storeSettings, test, testOn, testWithoutStore } from '../support/service/engines.ts'
import {
  cleanEnvironment,
  entry,
  environmentWithNode,
  repository,
  type Served,
  serve,
} from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until, within } from '../support/service/waiting.ts'
import { connectionsTo } from '../support/service/workers.ts'

type Line = Readonly<Record<string, unknown>>

const linesIn = (text: string): readonly Line[] =>
  text.split('\n').flatMap(line => (line.startsWith('{') ? [JSON.parse(line) as Line] : []))

const lineOf = (text: string, msg: string) => linesIn(text).find(line => line.msg === msg)

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Starts npm on a service of the data folder. @returns npm, its output, and the pid and address of the service */
async function startNpm(t: TestContext, cwd: string, ...args: readonly string[]) {
  const settings = {
    CARREL_DATA: temporaryFolder(t, 'sqlite'),
    CARREL_PORT: '0',
    CARREL_WORKERS: '2',
    // Tests of one machine share the folder in which npm keeps its log.
    npm_config_logs_max: '0',
  }
  const npm = spawn('npm', args, { cwd, env: environmentWithNode(settings), stdio: 'pipe', detached: true })
  const ended = once(npm, 'exit')
  let output = ''
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const ready = await until(
    'the line `ready`, or the end of npm',
    () => lineOf(output, 'ready') ?? npm.exitCode ?? undefined,
    line => line !== undefined,
  )
  assert.ok(typeof ready === 'object', output)
  const pid = Number(ready.pid)
  atEnd(t, () => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  return {
    npm: npm as ChildProcess,
    ended,
    output: () => output,
    pid,
    listening: `http://${ready.listening}`,
  }
}

type Npm = Awaited<ReturnType<typeof startNpm>>

async function assertGone({ pid, listening, output }: Npm): Promise<void> {
  await until(
    'the end of the service',
    () => isAlive(pid),
    alive => !alive,
  )
  await assert.rejects(fetch(listening), 'the port is free')
  assert.ok(lineOf(output(), 'stopped'), output())
}

/** Creates a project in which `npx carrel` finds this Carrel. */
function projectOf(t: TestContext): string {
  const folder = temporaryFolder(t, 'sqlite')
  const commands = join(folder, 'node_modules/.bin')
  mkdirSync(commands, { recursive: true })
  // The script ends once the service is ready.
  const up = 'nohup carrel serve > log 2>&1 & until grep -q ready log; do sleep 0.1; done'
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { up } }))
  writeFileSync(
    join(commands, 'carrel'),
    `#!/usr/bin/env node\nimport(${JSON.stringify(pathToFileURL(entry).href)})\n`,
  )
  chmodSync(join(commands, 'carrel'), 0o755)
  return folder
}

for (let round = 0; round < (isLong ? 3 : 1); round++) {
  testWithoutStore(`D4 SIGTERM to npm start ends the service, round ${round + 1}`, async t => {
    const one = await startNpm(t, repository, 'start')
    one.npm.kill('SIGTERM')
    await within('the end of npm', one.ended, one.output)
    // npm waits for the service, so a supervisor that starts it again finds the port free.
    assert.ok(!isAlive(one.pid))
    await assertGone(one)
  })

  testWithoutStore(`D4 SIGTERM to npx carrel serve ends the service, round ${round + 1}`, async t => {
    const one = await startNpm(t, projectOf(t), 'exec', '--no', 'carrel', 'serve')
    one.npm.kill('SIGTERM')
    await assertGone(one)
    assert.equal(lineOf(one.output(), 'stopping')?.cause, 'end of parent')
  })
}

testWithoutStore('D4 a SIGINT that a terminal sends to npm and the service stops it in order', async t => {
  const one = await startNpm(t, repository, 'start')
  process.kill(-(one.npm.pid ?? 0), 'SIGINT')
  await assertGone(one)
  assert.equal(lineOf(one.output(), 'stopping')?.cause, 'SIGINT')
})

testWithoutStore('D4 a service that a script of npm leaves in the background goes on', async t => {
  const folder = projectOf(t)
  const inFront = await startNpm(t, folder, 'exec', '--no', 'carrel', 'serve')
  const env = environmentWithNode({
    CARREL_DATA: join(folder, 'data'),
    CARREL_PORT: '0',
    npm_config_logs_max: '0',
  })
  const npm = spawn('npm', ['run', 'up'], { cwd: folder, env, stdio: ['pipe', 'ignore', 'ignore'] })
  await within('the end of npm', once(npm, 'exit'), () => folder)
  const log = () => readFileSync(join(folder, 'log'), 'utf8')
  const pid = Number(lineOf(log(), 'ready')?.pid)
  atEnd(t, () => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  // By then, the one in the background would have noticed as well.
  inFront.npm.kill('SIGTERM')
  await assertGone(inFront)
  process.kill(pid, 'SIGTERM')
  await until('its last line', log, text => lineOf(text, 'stopped') !== undefined)
  assert.equal(lineOf(log(), 'stopping')?.cause, 'SIGTERM')
})

const readiness = async (served: Served) => {
  const response = await fetch(`${served.address}/health/ready`)
  const { code } = (await response.json()) as { code?: string }
  return { status: response.status, code, retryAfter: response.headers.get('retry-after') }
}

testOn(
  'sqlite',
  'D4 D5 after SIGTERM every worker answers, and is not ready, until the port closes',
  async t => {
    const env = { CARREL_WORKERS: '2', CARREL_DRAIN_DELAY: '3600' }
    const served = await serve(t, temporaryFolder(t), { env })
    const before = connectionsTo(t, served.address)
    for (const one of before) assert.equal((await one.ask('/health/ready')).status, 200)
    served.signal('SIGTERM')
    await served.said(/"msg":"stopping"/)
    for (const one of [...before, ...connectionsTo(t, served.address)]) {
      const { status, headers, text } = await one.ask('/health/ready')
      assert.deepEqual([status, headers['retry-after']], [503, '5'], text)
      assert.match(text, /"code":"busy".*The service is stopping/)
      assert.equal(headers.connection, 'close')
      const next = await one.ask('/api')
      assert.deepEqual([next.status, next.headers.connection], [200, 'close'])
      assert.equal((await one.ask('/health/live')).status, 200)
    }
    served.signal('SIGTERM')
    assert.deepEqual(await served.ended, { code: 1, signal: null }, 'a second signal does not wait')
  },
)

testOn('sqlite', 'D4 the port closes after CARREL_DRAIN_DELAY, and at once after SIGINT', async t => {
  const drained = await serve(t, temporaryFolder(t), { env: { CARREL_DRAIN_DELAY: '1' } })
  drained.signal('SIGTERM')
  await drained.said(/"msg":"stopping"/)
  assert.deepEqual(await readiness(drained), { status: 503, code: 'busy', retryAfter: '5' })
  assert.deepEqual(await drained.ended, { code: 0, signal: null })
  const atTerminal = await serve(t, temporaryFolder(t), { env: { CARREL_DRAIN_DELAY: '3600' } })
  atTerminal.signal('SIGINT')
  assert.deepEqual(await within('the end after SIGINT', atTerminal.ended, () => atTerminal.output), {
    code: 0,
    signal: null,
  })
})

for (const workers of ['1', '2'])
  testOn(
    'sqlite',
    `D4 requests are cut after CARREL_STOP_GRACE, and the log says how many (${workers})`,
    async t => {
      const dataFolder = temporaryFolder(t)
      const service = await startService(t, { dataFolder })
      const records = Array.from({ length: 2_000 }, (_, id) => ({ id, text: 'x'.repeat(10_000) }))
      await service.addRecords('letters', 'id', records)
      await service.stop()
      const env = { CARREL_STOP_GRACE: '1', CARREL_WORKERS: workers }
      const served = await serve(t, dataFolder, { env })
      const slow = openSocket(served.address)
      slow.on('error', () => {})
      atEnd(t, () => slow.destroy())
      slow.write('GET /api/query/v4/letters HTTP/1.1\r\nHost: service.test\r\n\r\n')
      await once(slow, 'data')
      slow.pause()
      // It waits for its next request, so it is none that is under way.
      const [idle] = connectionsTo(t, served.address, 1)
      assert.equal((await idle?.ask('/api'))?.status, 200)
      const stream = await fetch(`${served.address}/api/query/v4/letters/changes`, {
        headers: { accept: 'text/event-stream' },
      })
      assert.equal(stream.status, 200)
      served.signal('SIGTERM')
      assert.equal((await within('the end', served.ended, () => served.output)).code, 0)
      await stream.text()
      const { level, cause, requests } = lineOf(served.output.stdout, 'stopping') ?? {}
      assert.deepEqual([level, cause, requests], [30, 'SIGTERM', 2])
      const stopped = lineOf(served.output.stdout, 'stopped')
      assert.deepEqual([stopped?.cut, typeof stopped?.ms], [1, 'number'])
    },
  )

testOn('sqlite', 'D4 a client that sends half a request does not hold the stop', async t => {
  const env = { CARREL_STOP_GRACE: '600', CARREL_WORKERS: '1' }
  const served = await serve(t, temporaryFolder(t), { env })
  const halves = [
    'GET /api HT',
    'POST /api/authn/login HTTP/1.1\r\nHost: service.test\r\nContent-Length: 1000\r\n\r\nhello',
  ].map(text => {
    const socket = openSocket(served.address)
    socket.on('error', () => {})
    atEnd(t, () => socket.destroy())
    socket.write(text)
    return socket
  })
  // The second one is refused without its body.
  await once(halves[1] as (typeof halves)[number], 'data')
  served.signal('SIGTERM')
  assert.equal((await within('the end', served.ended, () => served.output)).code, 0)
  assert.equal(lineOf(served.output.stdout, 'stopped')?.cut, 0)
})

test('D4 SIGTERM at any moment of the start ends it, and the next start goes on', async t => {
  const dataFolder = temporaryFolder(t)
  const settings = { ...(await storeSettings(dataFolder)), CARREL_PORT: '0', CARREL_WORKERS: '2' }
  // The process has begun, loads the service, opens the store, starts its worker, and is ready.
  for (const threads of [0, 6, 9, 12, 15, 18, Number.POSITIVE_INFINITY]) {
    const child = spawn(process.execPath, [entry, 'serve', '--demo'], { env: cleanEnvironment(settings) })
    const ended = once(child, 'exit')
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const started = () => lineOf(stdout, 'ready') !== undefined || child.exitCode !== null
    const running = () => readdirSync(`/proc/${child.pid}/task`).length
    await until(`${threads} threads, or the line \`ready\``, () => started() || running() >= threads)
    child.kill('SIGTERM')
    const [code, signal] = (await within(`the end at ${threads} threads`, ended, () => stderr)) as [
      number | null,
      string | null,
    ]
    // In its first moments, no handler is there yet.
    assert.ok(code === 0 || signal === 'SIGTERM', `${threads}: ${code} ${signal} ${stderr}`)
    assert.doesNotMatch(stderr, /carrel: |Error/)
  }
  const served = await serve(t, dataFolder)
  assert.equal(await served.stop(), 0)
})
