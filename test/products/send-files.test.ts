import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { begin, cutAfter, finish, finishHashed, type Headers } from '../support/clients/transfers.ts'
import { anyEperson, contentOf, everybody, putItem } from '../support/data/repository.ts'
import { atEnd } from '../support/service/at-end.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { run } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { blockOf, configureNginx, nginxProgram, serverForNodes } from './nginx.ts'
import { assertUploadsPass, uploadSettings } from './uploads.ts'

/**
 * Returns a block of docs/how-to/send-files.md, by which a real nginx and a real Apache send files (F4). The
 * Debian packages are nginx, apache2 and libapache2-mod-xsendfile. If the test runs as root, the proxies'
 * workers run as www-data, which can read the files only through their group.
 */
const guideBlock = (language: string) => blockOf('docs/how-to/send-files.md', language)

interface Product {
  readonly name: string
  readonly program: string
  readonly filesSentBy: string
  /** Writes the configuration into the folder. @returns the arguments of the program */
  configure(place: Place): readonly string[]
  /** Headers that the product adds to files, whatever its configuration. */
  readonly adds: readonly string[]
  /** True if the product finds a file that was set aside after Carrel named it. */
  readonly findsOrphans: boolean
}

interface Place {
  readonly folder: string
  readonly port: number
  /** Host and port of Carrel. */
  readonly backend: string
  readonly filesFolder: string
}

const isRoot = process.getuid?.() === 0
/** The group of Debian's www-data (base-passwd). */
const wwwData = 33

const nginx: Product = {
  name: 'nginx',
  program: nginxProgram,
  filesSentBy: 'x-accel-redirect:/carrel-files/',
  adds: [],
  findsOrphans: true,
  configure: ({ folder, port, backend, filesFolder }) =>
    configureNginx(
      folder,
      serverForNodes(port, backend).replace(
        /\}\s*$/,
        `${guideBlock('nginx').replaceAll('/srv/carrel/files', filesFolder)}}\n`,
      ),
      `include /etc/nginx/mime.types;
default_type application/octet-stream;
sendfile on;
tcp_nopush on;
gzip on;`,
    ),
}

const apache: Product = {
  name: 'Apache',
  program: '/usr/sbin/apache2',
  filesSentBy: 'x-sendfile',
  adds: ['last-modified'],
  findsOrphans: false,
  configure: ({ folder, port, backend, filesFolder }) => {
    const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'headers', 'env', 'setenvif', 'filter']
    writeFileSync(
      join(folder, 'apache.conf'),
      `ServerRoot ${folder}
ServerName localhost
PidFile ${folder}/apache.pid
ErrorLog ${folder}/error.log
Listen 127.0.0.1:${port}
${[...modules, 'deflate', 'xsendfile'].map(name => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
${isRoot ? 'User www-data\nGroup www-data' : ''}
Include /etc/apache2/mods-available/deflate.conf
${guideBlock('apache').replaceAll('/srv/carrel/files', filesFolder).replace('127.0.0.1:8081', backend).replace('8088', `${port}`)}
`,
    )
    return ['-f', join(folder, 'apache.conf'), '-DFOREGROUND']
  },
}

/** Starts the product in front of Carrel. @returns its address */
async function startProxy(
  t: TestContext,
  product: Product,
  address: string,
  filesFolder: string,
): Promise<string> {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const port = await freePort()
  const args = product.configure({ folder, port, backend: new URL(address).host, filesFolder })
  const child: ChildProcess = spawn(product.program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const ended = once(child, 'exit')
  atEnd(t, async () => {
    child.kill('SIGTERM')
    await ended
  })
  const proxy = `http://127.0.0.1:${port}`
  for (;;) {
    assert.equal(child.exitCode, null, complaints)
    const answers = await fetch(proxy).then(
      response => response.arrayBuffer(),
      () => undefined,
    )
    if (answers) return proxy
    await sleep(50)
  }
}

const size = 1_000_000

async function start(t: TestContext, product: Product) {
  assert.ok(existsSync(product.program), `${product.program} is missing; see CONTRIBUTING.md`)
  const dataFolder = temporaryFolder(t)
  // The guide requires a group for the folder of files, including new files in it.
  chmodSync(dataFolder, 0o755)
  const filesFolder = join(dataFolder, 'files')
  mkdirSync(filesFolder)
  if (isRoot) chownSync(filesFolder, 0, wwwData)
  chmodSync(filesFolder, 0o2750)
  const env = {
    CARREL_BASE_URL: 'http://repo.example.edu/server',
    CARREL_ALLOWED_ORIGINS: 'https://ui.example.edu',
    CARREL_TRUSTED_PROXIES: '127.0.0.1',
    ...uploadSettings,
  }
  const handing = await startService(t, {
    dataFolder,
    env: { ...env, CARREL_FILES_SENT_BY: product.filesSentBy },
  })
  const sending = await startService(t, { dataFolder, env })
  await handing.addEperson('ruth@example.org')
  const content = randomBytes(size)
  const { bitstreams } = await putItem(handing, 'test/1', everybody, [
    { name: 'open – für alle.txt', content },
    { name: 'shared.html', content, mimeType: 'text/html', readers: anyEperson },
    { name: 'empty.txt', content: '' },
  ])
  const [open, shared, empty] = bitstreams.map(one => `/server${contentOf(one)}`) as [string, string, string]
  const ruth = handing.client()
  await ruth.login('ruth@example.org')
  const sha256 = createHash('sha256').update(content).digest('hex')
  return { handing, sending, filesFolder, content, sha256, open, shared, empty, ruth }
}

async function ask(address: string, path: string, headers: Headers, method = 'GET') {
  const request = httpRequest(address + path, { method, headers, agent: false }).end()
  request.setTimeout(10_000, () => request.destroy(new Error(`no answer to ${method} ${path}`)))
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, headers: answer.rawHeaders, body: await finish(answer) }
}

/** Removes headers of the connection, headers that differ each time, and the boundary between parts. */
const comparable = (raw: readonly string[], without: readonly string[]): string[] =>
  raw
    .flatMap((name, at) => (at % 2 === 0 ? [`${name.toLowerCase()}: ${raw[at + 1]}`] : []))
    .filter(line => !/^(date|server|via|connection|keep-alive):/.test(line))
    .filter(line => !without.some(name => line.startsWith(`${name}:`)))
    .map(line => line.replace(/(CARREL-LEASE=|XSRF-COOKIE=|xsrf-token: |boundary=)[^;]*/, '$1…'))
    .toSorted()

/**
 * Starts a server between the proxy and Carrel.
 *
 * @param onNamed called when Carrel has named a file, before the proxy learns of it
 * @returns its address
 */
async function listenBetween(t: TestContext, { address }: Service, onNamed: () => void): Promise<string> {
  const between = createServer((incoming, response) => {
    const { method = '', headers, url = '' } = incoming
    const onward = httpRequest(address + url, { method, headers }, answer => {
      if ('x-accel-redirect' in answer.headers || 'x-sendfile' in answer.headers) onNamed()
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    onward.end()
  })
  await new Promise<void>(resolve => between.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => between.close().closeAllConnections())
  return `http://127.0.0.1:${(between.address() as AddressInfo).port}`
}

for (const product of [nginx, apache]) {
  test(`F4 ${product.name} sends files with the same status, headers and bytes as Carrel`, async t => {
    const world = await start(t, product)
    const { sending, filesFolder, content, sha256, open, shared, empty, ruth } = world
    let named = 0
    const between = await listenBetween(t, world.handing, () => named++)
    const behindHanding = await startProxy(t, product, between, filesFolder)
    const behindSending = await startProxy(t, product, sending.address, filesFolder)
    const etag = `"${sha256}"`
    const bearer = { authorization: `Bearer ${ruth.token}` }
    const origin = { origin: 'https://ui.example.edu' }
    const today = new Date().toUTCString()
    type Row = readonly [status: number, headers: Headers, path?: string, method?: string]
    const byProxy: readonly Row[] = [
      [200, {}],
      [200, origin],
      [200, bearer, shared],
      [200, { 'if-range': '"another"' }],
      [200, {}, empty],
      [206, { range: 'bytes=10-19' }],
      [206, { range: 'bytes=10-19', ...origin }],
      [206, { range: 'bytes=0-' }],
      [206, { range: 'bytes=0-999999' }],
      [206, { range: 'bytes=0-99999999' }],
      [206, { range: 'bytes=0-0' }],
      [206, { range: 'bytes=-5' }],
      [206, { range: 'bytes=-5000000' }],
      [206, { range: 'bytes=999990-' }],
      [206, { range: 'bytes=10-19', ...bearer }, shared],
      [206, { range: 'bytes=10-19', 'if-range': etag }],
    ]
    const byCarrel: readonly Row[] = [
      [200, {}, open, 'HEAD'],
      [200, { range: 'bytes=10-19' }, open, 'HEAD'],
      [206, { range: 'bytes=1-2,5-9' }],
      [200, { range: 'bytes=a-b' }],
      [200, { range: 'bytes=0-,0-' }],
      [416, { range: 'bytes=1000000-' }],
      [416, { range: 'bytes=0-' }, empty],
      [304, { 'if-none-match': etag }],
      [304, { 'if-none-match': '*' }],
      [200, { 'if-none-match': '"another"' }],
      [200, { 'if-match': etag }],
      [412, { 'if-match': '"another"' }],
      [200, { 'if-modified-since': today }],
      [200, { 'if-unmodified-since': new Date(0).toUTCString() }],
      [200, { range: 'bytes=10-19', 'if-range': '"another"' }],
      [200, { range: 'bytes=10-19', 'if-range': `W/${etag}` }],
      [200, { range: 'bytes=10-19', 'if-range': today }],
      [401, {}, shared],
      [404, {}, '/server/api/core/bitstreams/00000000-0000-4000-8000-000000000000/content'],
    ]
    for (const rows of [byProxy, byCarrel])
      for (const [status, headers, path = open, method = 'GET'] of rows) {
        const what = `${method} ${path} ${JSON.stringify({ ...headers, authorization: '' })}`
        const handed = await ask(behindHanding, path, headers, method)
        const own = await ask(behindSending, path, headers, method)
        assert.equal(handed.status, status, what)
        assert.equal(own.status, status, what)
        assert.deepEqual(
          comparable(handed.headers, rows === byProxy ? product.adds : []),
          comparable(own.headers, []),
          what,
        )
        if (!String(headers.range).includes('1-2,'))
          assert.ok(handed.body && own.body?.equals(handed.body), what)
        assert.ok(!/x-accel|x-sendfile/i.test(handed.headers.join()), what)
        if (status < 300 && method === 'GET' && path === open && headers.range === undefined)
          assert.ok(handed.body?.equals(content), what)
      }
    assert.equal(named, byProxy.length, 'the proxy sent the first rows, and no others')
    const folders = `${sha256.slice(0, 2)}/${sha256.slice(2, 4)}`
    for (const path of [`/carrel-files/${folders}/${sha256}`, `/server/../carrel-files/${folders}/${sha256}`])
      assert.equal((await ask(behindHanding, path, {})).status, 404, path)
  })

  test(`D13 F4 I7 UP1 EA7 behind ${product.name} that sends files, uploads of any size that the settings allow arrive`, async t => {
    const { handing, filesFolder } = await start(t, product)
    const proxy = await startProxy(t, product, handing.address, filesFolder)
    await assertUploadsPass(handing, `${proxy}/server`)
  })

  test(`F4 F3 behind ${product.name}, a download that is cut is completed with the lease after its token has expired`, async t => {
    const world = await start(t, product)
    let named = 0
    const between = await listenBetween(t, world.handing, () => named++)
    const proxy = await startProxy(t, product, between, world.filesFolder)
    const token = await world.ruth.shortLivedToken()
    const opened = await begin(`${proxy}${world.shared}?authentication-token=${token}`)
    assert.equal(opened.statusCode, 200)
    const cookie = opened.headers['set-cookie']?.find(one => one.startsWith('CARREL-LEASE=')) ?? ''
    const headers = { cookie: cookie.split(';')[0] ?? '', 'if-range': opened.headers.etag ?? '' }
    const received = [await cutAfter(opened, 1000)]
    await sleep(2_100)
    assert.equal((await ask(proxy, `${world.shared}?authentication-token=${token}`, {})).status, 401)
    const length = () => received.reduce((sum, one) => sum + one.length, 0)
    for (let n = 0; n < 3; n++) {
      const answer = await begin(proxy + world.shared, { ...headers, range: `bytes=${length()}-` })
      assert.equal(answer.statusCode, 206)
      received.push(n < 2 ? await cutAfter(answer, 1000) : ((await finish(answer)) ?? Buffer.of()))
      if (length() >= size) break
    }
    assert.ok(Buffer.concat(received).equals(world.content))
    assert.ok(named > 1, 'the proxy sent them')
    const events = (await (await world.ruth.get('/api/query/v4/audit-events')).json()) as { event: string }[]
    assert.equal(events.filter(({ event }) => event === 'download').length, 1)
  })

  test(`F4 a file that is set aside after Carrel named it: ${product.name} ${product.findsOrphans ? 'sends it' : 'says 404'}`, async t => {
    const { handing, filesFolder, content, sha256, open } = await start(t, product)
    const place = join(filesFolder, sha256.slice(0, 2), sha256.slice(2, 4), sha256)
    const moves = () => renameSync(place, join(filesFolder, 'orphans', sha256))
    const proxy = await startProxy(t, product, await listenBetween(t, handing, moves), filesFolder)
    const { status, body, headers } = await ask(proxy, open, {})
    assert.equal(status, product.findsOrphans ? 200 : 404)
    assert.equal(body?.equals(content), product.findsOrphans)
    assert.ok(!headers.join().includes(filesFolder))
  })

  test(`F4 behind ${product.name}, a file of 1 GiB arrives whole`, async t => {
    const { handing, sending, filesFolder } = await start(t, product)
    const large = 1024 ** 3
    const source = join(temporaryFolder(t), 'large')
    writeFileSync(source, '')
    truncateSync(source, large)
    const { bitstreams } = await putItem(handing, 'test/2', everybody, [
      { name: 'large.bin', path: source, mimeType: 'application/octet-stream' },
    ])
    const path = `/server${contentOf(bitstreams[0] ?? { uuid: '' })}`
    for (const [what, service] of [
      ['Carrel', sending],
      [product.name, handing],
    ] as const) {
      const proxy = await startProxy(t, product, service.address, filesFolder)
      const { stdout } = await run('curl', ['-s', '-o', '/dev/null', '-w', '%{speed_download}', proxy + path])
      t.diagnostic(`sent by ${what}: ${(Number(stdout) / 1e6).toFixed(0)} MB/s`)
      assert.equal(await finishHashed(await begin(proxy + path)), bitstreams[0]?.sha256)
    }
  })
}
