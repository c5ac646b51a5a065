import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { adminEmail, everything } from '../support/data/every-route.ts'
import { testOn } from '../support/service/engines.ts'
import { entry, serve } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'
import { connectionsTo, endings } from '../support/service/workers.ts'

/** Runs the service with at most 300 descriptors. */
const program = ['sh', '-c', 'ulimit -n 300; exec "$@"', 'sh', process.execPath, entry] as const

/** Makes a module that is loaded into a service and lets it open files until it can open no more. */
function shortage(t: TestContext) {
  const folder = temporaryFolder(t, 'sqlite')
  const [file, wanted, begun] = ['shortage.cjs', 'wanted', 'begun'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(
    file,
    `const { closeSync, existsSync, mkdirSync, openSync, rmdirSync } = require('node:fs')
     const held = []
     if (require('node:worker_threads').isMainThread) setInterval(() => {
       if (existsSync(${JSON.stringify(wanted)})) {
         // Again and again, because descriptors become free.
         try { for (;;) held.push(openSync('/dev/null', 'r')) } catch {}
         mkdirSync(${JSON.stringify(begun)}, { recursive: true })
       } else if (held.length > 0) {
         for (const one of held.splice(0)) closeSync(one)
         rmdirSync(${JSON.stringify(begun)})
       }
     }, 5).unref()`,
  )
  return {
    option: `--require=${file}`,
    begin: async () => {
      writeFileSync(wanted, '')
      await until('a service without descriptors', () => existsSync(begun))
    },
    end: async () => {
      rmSync(wanted)
      await until('a service with descriptors', () => !existsSync(begun))
    },
  }
}

/**
 * True for addresses that would end the session of the test, or that never end by themselves, and for those that
 * say in a word whether the store answers.
 */
const isLeftOut = (url: string) => /\/log(in|out)$|\/(events|changes|rotate)$|^\/status\/v1\/simple/.test(url)

/** Returns a body that the route reads, with its headers. */
function bodyFor(method: string, url: string) {
  const [type, body] = url.endsWith('/bitstreams')
    ? [
        'multipart/form-data; boundary=b',
        '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nhello\r\n--b--\r\n',
      ]
    : url.endsWith('/import')
      ? ['text/csv', 'id\n1\n']
      : url.startsWith('/api/uploads')
        ? ['application/offset+octet-stream', 'hello']
        : ['application/json', '{}']
  return method === 'GET' ? { headers: {} } : { headers: { 'content-type': type }, body }
}

testOn('sqlite', 'E2 F5 no address is a fault of the service while it can open no files', async t => {
  const { at, routes, service } = await everything(t)
  await service.stop()
  const short = shortage(t)
  const env = {
    NODE_OPTIONS: short.option,
    CARREL_BACKUPS: temporaryFolder(t, 'sqlite'),
    CARREL_LOGIN_ON_BEHALF_OF: 'true',
  }
  const served = await serve(t, service.dataFolder, { env, program })
  const client = new Client(served.address)
  const { cookie, value } = await client.csrfPair()
  const headers = {
    authorization: `Bearer ${await client.login(adminEmail)}`,
    cookie,
    'x-xsrf-token': value,
    'tus-resumable': '1.0.0',
    'upload-length': '5',
    'upload-offset': '0',
  }
  // The framework closes a connection after some errors, and no other can be opened.
  const connections = connectionsTo(t, served.address, 20)
  for (const one of connections) await one.ask('/api')
  await short.begin()
  const refused: string[] = []
  /** @returns the status of the answer, which is no error of the server but 503 */
  async function ask({ method, url }: (typeof routes)[number]): Promise<number> {
    const body = bodyFor(method, url)
    const path = at(url) + (url.endsWith('/import') ? '?key=id' : '')
    const asked = { method, ...body, headers: { ...headers, ...body.headers } }
    const answer = await connections[0]?.ask(path, asked)
    assert.ok(answer, `no connection is left for ${method} ${url}`)
    if (answer.headers.connection !== 'keep-alive') connections.shift()
    if (answer.status < 500) return answer.status
    assert.equal(answer.status, 503, `${method} ${url}: ${answer.text}`)
    assert.ok(Number(answer.headers['retry-after']) > 0, `${method} ${url}`)
    refused.push(`${method} ${url}`)
    return answer.status
  }
  for (const route of routes)
    if (!isLeftOut(route.url) && route.method !== 'DELETE' && route.method !== 'OPTIONS') await ask(route)
  // A connection that was closed leaves its descriptor free for a moment, in which one of these may have been answered.
  const needFiles = [
    'GET /api/core/bitstreams/:uuid/content',
    'POST /api/core/bundles/:uuid/bitstreams',
    'POST /api/admin/entities/:name/import',
  ]
  for (const needed of needFiles) {
    const route = routes.find(({ method, url }) => `${method} ${url}` === needed)
    assert.ok(route, needed)
    await until(
      `a refusal of ${needed}, which needs a file`,
      () => ask(route),
      status => status === 503,
    )
  }
  const told = served.output.stdout.split('\n').filter(line => line.includes('Too many files are open'))
  assert.ok(told.length > 0 && told.length < refused.length / 2, `${told.length} lines`)
  assert.match(told[0] ?? '', /EMFILE/)

  await short.end()
  await until(
    'a service that is ready',
    async () => (await connections[0]?.ask('/health/ready'))?.status,
    status => status === 200,
  )
  for (const { method, url } of routes) {
    if (isLeftOut(url) || method !== 'GET') continue
    const answer = await connections[0]?.ask(at(url), { headers })
    assert.ok(answer && answer.status < 500, `${url}: ${answer?.text}`)
  }
  assert.equal(await served.stop(), 0)
})

testOn('sqlite', 'D10 workers that end because no file can be opened are no fault of theirs', async t => {
  const short = shortage(t)
  const ends = endings(t)
  const NODE_OPTIONS = `${ends.env.NODE_OPTIONS} ${short.option}`
  const served = await serve(t, temporaryFolder(t), { env: { CARREL_WORKERS: '3', NODE_OPTIONS }, program })
  const connections = connectionsTo(t, served.address)
  for (const one of connections) await one.ask('/api')
  await short.begin()
  await ends.begin('throw')
  // More often than a service tolerates from workers that end by their own fault.
  await until(
    'four workers that were replaced',
    () => served.output.stdout,
    log => (log.match(/a worker has ended and is replaced/g)?.length ?? 0) >= 4,
  )
  const live = await Promise.allSettled(connections.map(one => one.ask('/health/live')))
  assert.ok(live.some(one => one.status === 'fulfilled' && one.value.status === 200))
  await short.end()
  await until(
    'all workers',
    async () => (await fetch(`${served.address}/health/ready`)).json(),
    ready => !('workers' in (ready as object)),
  )
  assert.doesNotMatch(served.output.stdout, /the service ends/)
  assert.equal(await served.stop(), 0)
})
