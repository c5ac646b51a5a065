import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createLine, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { crc32, deflateSync } from 'node:zlib'
import type { BrowserContext, Page } from 'playwright-core'
import { openBrowser } from '../support/clients/browser.ts'
import { anyEperson, contentOf, everybody, type PlannedFile, putItem } from '../support/data/repository.ts'
import { atEnd } from '../support/service/at-end.ts'
import { testOnOne } from '../support/service/engines.ts'
import { passwordOf, type Service, startService } from '../support/service/service.ts'
import { inTime, shortLife, until } from '../support/service/waiting.ts'

const email = 'ruth@example.org'

/** A request to the service. */
interface Asked {
  readonly path: string
  readonly status: () => number
  readonly range: string | undefined
  readonly ifRange: string | undefined
  readonly hasLease: boolean
  readonly response: ServerResponse
}

interface World {
  readonly service: Service
  readonly line: Line
  /** The addresses of the files' contents. */
  readonly files: readonly string[]
  readonly asked: readonly Asked[]
  readonly context: BrowserContext
  /** A page on an origin of its own, in which an eperson has logged in. */
  readonly page: Page
  /** Returns the address of a file with a new token, as the page creates it. */
  withToken(file: string): Promise<string>
}

/** @param host of the page; the service is at 127.0.0.1 */
async function start(t: TestContext, planned: readonly PlannedFile[], host = '127.0.0.1'): Promise<World> {
  const origin = await startPage(t, host)
  const service = await startService(t, { env: { CARREL_ALLOWED_ORIGINS: origin } })
  await service.addEperson(email)
  const { bitstreams } = await putItem(
    service,
    'test/1',
    everybody,
    planned.map(one => ({ readers: anyEperson, ...one })),
  )
  const asked: Asked[] = []
  service.app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { url = '', headers, method } = request
    if (method !== 'GET' || !headers['user-agent']?.includes('Chrome')) return
    asked.push({
      path: url.split('?')[0] ?? '',
      status: () => response.statusCode,
      range: headers.range,
      ifRange: headers['if-range']?.toString(),
      hasLease: /CARREL-LEASE=/.test(headers.cookie ?? ''),
      response,
    })
  })
  const line = await startLine(t, service.address)
  const context = await openBrowser(t)
  const page = await context.newPage()
  await page.goto(origin)
  // Over http, a page of another site can't log in, because its requests carry no cookie. It gets its tokens
  // in another way.
  const isSameSite = host === '127.0.0.1'
  const client = service.client()
  if (!isSameSite) await client.login(email)
  const authorization = isSameSite
    ? await page.evaluate<string, readonly string[]>(logIn, [line.address, email, passwordOf(email)])
    : ''
  const shortLived = () =>
    isSameSite
      ? page.evaluate<string, readonly string[]>(shortLivedToken, [line.address, authorization])
      : client.shortLivedToken()
  return {
    service,
    line,
    files: bitstreams.map(one => line.address + contentOf(one)),
    asked,
    context,
    page,
    withToken: async file => `${file}?authentication-token=${await shortLived()}`,
  }
}

/** A connection between browser and service that can stop in the middle of an answer, and break. */
interface Line {
  readonly address: string
  /**
   * Stops the next answer longer than this number of bytes there. @returns a function that breaks the
   * connection
   */
  stopAfter(bytes: number): Promise<() => void>
}

async function startLine(t: TestContext, service: string): Promise<Line> {
  let stop: { readonly bytes: number; readonly stopped: (cut: () => void) => void } | undefined
  const open = new Set<Socket>()
  const server = createLine(client => {
    const onward = connect(Number(new URL(service).port), '127.0.0.1')
    for (const socket of [client, onward]) {
      open.add(socket)
      socket
        .on('error', () => {})
        .once('close', () => {
          client.destroy()
          onward.destroy()
        })
    }
    client.pipe(onward)
    let passed = 0
    onward.on('data', chunk => {
      passed += chunk.length
      if (!client.write(chunk)) {
        onward.pause()
        client.once('drain', () => onward.resume())
      }
      if (stop === undefined || passed < stop.bytes) return
      onward.removeAllListeners('data')
      stop.stopped(() => client.end())
      stop = undefined
      onward.pause()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stopAfter: bytes =>
      new Promise(resolve => {
        stop = { bytes, stopped: resolve }
      }),
  }
}

/** Waits until the token in the address has expired, without the browser and its cookies. */
async function untilDead({ service, line }: World, url: string): Promise<void> {
  await until(
    'the end of the short-lived token',
    async () => (await fetch(url.replace(line.address, service.address), { method: 'HEAD' })).status,
    status => status === 401,
  )
}

async function startPage(t: TestContext, host: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(
      '<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,"><p>A page',
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://${host}:${(server.address() as AddressInfo).port}`
}

/** Runs in the page: logs in by fetch with credentials, like an interface on another origin. */
const logIn = async ([service, user, password]: readonly string[]) => {
  const all = { credentials: 'include' } as const
  const pair = await fetch(`${service}/api/security/csrf`, all)
  const xsrf = pair.headers.get('dspace-xsrf-token') ?? ''
  sessionStorage.setItem('xsrf', xsrf)
  const answer = await fetch(`${service}/api/authn/login`, {
    ...all,
    method: 'POST',
    headers: { 'x-xsrf-token': xsrf },
    body: new URLSearchParams({ user: user ?? '', password: password ?? '' }),
  })
  sessionStorage.setItem('xsrf', answer.headers.get('dspace-xsrf-token') ?? xsrf)
  return answer.headers.get('authorization') ?? ''
}
const shortLivedToken = async ([service, authorization]: readonly string[]) => {
  const answer = await fetch(`${service}/api/authn/shortlivedtokens`, {
    credentials: 'include',
    method: 'POST',
    headers: { 'x-xsrf-token': sessionStorage.getItem('xsrf') ?? '', authorization: authorization ?? '' },
  })
  return ((await answer.json()) as { token: string }).token
}

const goTo = (page: Page, url: string) => page.evaluate(`location.href = ${JSON.stringify(url)}`)

/**
 * Navigates from the page to a file that is saved. If the token has expired on the way, the download is
 * refused, and everything is repeated with another token (T2).
 *
 * @returns the download, its address, and the requests for it
 */
async function beginDownload({ page, asked, withToken }: World, file: string) {
  const home = page.url()
  const begun = await inTime(shortLife, async () => {
    const before = asked.length
    const downloading = page.waitForEvent('download')
    downloading.catch(() => {})
    const url = await withToken(file)
    await goTo(page, url)
    const answer = await until('an answer to the download', () =>
      asked.slice(before).find(({ response }) => response.headersSent),
    )
    if (answer?.status() === 401) await page.goto(home)
    assert.notEqual(answer?.status(), 401)
    return { download: await downloading, url, before }
  })
  return { ...begun, asked: () => asked.slice(begun.before) }
}

async function save(world: World, file: string) {
  const { download } = await beginDownload(world, file)
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) }
}

testOnOne(
  'F1 F2 a page elsewhere opens a download by an address with a token, and the file is saved whole under its name',
  async t => {
    const name = 'Größe – 図書館 “1”.bin'
    const content = randomBytes(5_000_000)
    const world = await start(t, [{ name, content, mimeType: 'application/octet-stream' }])
    const { page, files } = world
    const url = page.url()
    const saved = await save(world, files[0] ?? '')
    assert.equal(saved.name, name)
    assert.ok(saved.content.equals(content))
    assert.equal(page.url(), url, 'the page stays where it was')
  },
)

const script = "fetch('/api/ran'); new Image().src = '/api/ran'; document.title = 'ran'"
const active: readonly (PlannedFile & { readonly content: string })[] = [
  { name: 'page.html', mimeType: 'text/html', content: `<!doctype html><script>${script}</script>` },
  {
    name: 'drawing.svg',
    mimeType: 'image/svg+xml',
    content: `<svg xmlns="http://www.w3.org/2000/svg"><script>${script}</script></svg>`,
  },
  {
    name: 'page.xhtml',
    mimeType: 'application/xhtml+xml',
    content: `<html xmlns="http://www.w3.org/1999/xhtml"><head><script>${script}</script></head></html>`,
  },
]

testOnOne('F2 what could run a script is saved and never runs, wherever a page puts it', async t => {
  const world = await start(t, active)
  const { page, files, asked, withToken } = world
  for (const [at, file] of files.entries()) {
    const saved = await save(world, file)
    assert.equal(saved.name, active[at]?.name)
    assert.equal(saved.content.toString(), active[at]?.content)
  }
  for (const file of files) {
    for (const tag of ['iframe', 'embed', 'img']) {
      const before = asked.length
      const place = JSON.stringify([tag, await withToken(file)])
      await page.evaluate(`{
        const [tag, url] = ${place}
        document.body.append(Object.assign(document.createElement(tag), { src: url }))
      }`)
      await until(
        `a request of ${tag}, and all of its answer`,
        () => asked.slice(before).map(({ path, response }) => [path, response.writableFinished]),
        seen => seen.at(-1)?.[1] === true,
      )
    }
  }
  await page.waitForLoadState('networkidle')
  for (const frame of page.frames()) assert.notEqual(await frame.title().catch(() => ''), 'ran')
  assert.deepEqual(
    asked.filter(({ path }) => path === '/api/ran'),
    [],
  )
})

testOnOne(
  'F2 a picture and a text are shown in the browser, and what looks like a page in a text is text',
  async t => {
    const text = `<!doctype html><script>${script}</script>`
    const { context, files, asked, withToken } = await start(t, [
      { name: 'picture.png', mimeType: 'image/png', content: png(7, 5) },
      { name: 'notes.txt', mimeType: 'text/plain', content: text },
    ])
    const tab = await context.newPage()
    const complaints: string[] = []
    tab.on('console', message => complaints.push(message.text()))
    const show = (file = '') =>
      inTime(shortLife, async () => {
        complaints.length = 0
        assert.equal((await tab.goto(await withToken(file)))?.status(), 200)
      })
    await show(files[0])
    assert.deepEqual(
      await tab.evaluate('[document.images[0].naturalWidth, document.images[0].naturalHeight]'),
      [7, 5],
    )
    assert.deepEqual(complaints, [], 'nothing that the browser needs to show it is forbidden')
    await show(files[1])
    assert.equal(await tab.innerText('body'), text)
    assert.notEqual(await tab.title(), 'ran')
    assert.deepEqual(
      asked.filter(({ path }) => path === '/api/ran'),
      [],
    )
    assert.deepEqual(complaints, [], 'nothing that the browser needs to show it is forbidden')
  },
)

testOnOne(
  'F1 F2 a page on an allowed origin reads parts of a file by fetch and shows it as a picture',
  async t => {
    const content = png(7, 5)
    const { page, files, withToken } = await start(t, [
      { name: 'picture.png', mimeType: 'image/png', content },
    ])
    const readPart = async (url: string) => {
      const answer = await fetch(url, { credentials: 'include', headers: { range: 'bytes=1-3' } })
      const names = ['content-range', 'etag', 'content-disposition', 'accept-ranges']
      return [answer.status, await answer.text(), ...names.map(name => answer.headers.get(name) !== null)]
    }
    await inTime(shortLife, async () => {
      const read = await page.evaluate(readPart, await withToken(files[0] ?? ''))
      assert.deepEqual(read, [206, 'PNG', true, true, true, true])
    })
    const shown = await inTime(shortLife, async () => {
      const image = JSON.stringify(await withToken(files[0] ?? ''))
      return page.evaluate<number>(`{
        const image = Object.assign(new Image(), { src: ${image} })
        image.decode().then(() => image.naturalWidth)
      }`)
    })
    assert.equal(shown, 7)
  },
)

/**
 * Hosts of pages. Ports don't distinguish sites, but `localhost` is another site than the service's address.
 */
for (const [where, host] of [
  ['of the same site', '127.0.0.1'],
  ['of another site', 'localhost'],
] as const)
  testOnOne(
    `F3 a browser resumes a download that a page ${where} began, by the lease, after the token has died`,
    async t => {
      const content = randomBytes(8_000_000)
      const world = await start(
        t,
        [{ name: 'large.bin', content, mimeType: 'application/octet-stream' }],
        host,
      )
      const { line, files } = world
      const stopped = line.stopAfter(3_000_000)
      const { download, url, asked } = await beginDownload(world, files[0] ?? '')
      const cut = await stopped
      await untilDead(world, url)
      cut()
      assert.ok(readFileSync(await download.path()).equals(content))
      const [first, ...more] = asked().filter(({ path }) => path.endsWith('/content'))
      assert.deepEqual([first?.range, first?.hasLease], [undefined, false])
      assert.ok(more.length > 0, 'it was resumed')
      for (const resumed of more) {
        assert.equal(resumed.status(), 206)
        assert.match(resumed.range ?? '', /^bytes=[1-9]\d*-/)
        assert.equal(resumed.ifRange, `"${hash('sha256', content)}"`)
        // SameSite=Lax: the browser counts this as the same navigation, whichever page began it.
        assert.equal(resumed.hasLease, true)
      }
    },
  )

/** Loads a sound into the page with a new token. @returns its address and its length in seconds */
async function load({ page, files, withToken }: World) {
  const url = await withToken(files[0] ?? '')
  const length = await page.evaluate<number>(`new Promise((resolve, reject) => {
    globalThis.audio = Object.assign(document.createElement('audio'), { src: ${JSON.stringify(url)}, preload: 'metadata' })
    audio.onloadedmetadata = () => resolve(audio.duration)
    audio.onerror = () => reject(new Error(audio.error.message))
    document.body.append(audio)
  })`)
  return { url, length }
}

async function loadInTime(world: World): Promise<string> {
  const { url, length } = await inTime(shortLife, () => load(world))
  assert.equal(length, 600)
  return url
}

const seek = 'audio.currentTime = 590'
const sought = `new Promise((resolve, reject) => {
  audio.onseeked = () => resolve('there')
  audio.onerror = () => reject(new Error(audio.error.message))
  audio.currentTime = 590
})`
/** Returns the requests of a player for later parts. */
const laterParts = ({ asked }: World) =>
  asked.filter(({ range = '' }) => range !== '' && range !== 'bytes=0-')

testOnOne(
  'F3 a player in a page of the same site seeks in a sound by the lease, after the token has died',
  async t => {
    const world = await start(t, [{ name: 'sound.wav', mimeType: 'audio/wav', content: wav(600) }])
    await untilDead(world, await loadInTime(world))
    assert.equal(await world.page.evaluate(sought), 'there')
    const parts = laterParts(world)
    assert.ok(parts.length > 0)
    for (const part of parts) assert.deepEqual([part.status(), part.hasLease], [206, true])
  },
)

testOnOne('F3 a player in a page of another site has no lease, and goes on with a new token', async t => {
  const world = await start(t, [{ name: 'sound.wav', mimeType: 'audio/wav', content: wav(600) }], 'localhost')
  const { page } = world
  await untilDead(world, await loadInTime(world))
  await page.evaluate(seek)
  await until(
    'the answer to a later part',
    () => laterParts(world).map(({ range, response }) => [range, response.writableFinished]),
    seen => seen.some(([, isFinished]) => isFinished === true),
  )
  for (const part of laterParts(world)) assert.equal(part.hasLease, false)
  assert.equal(laterParts(world)[0]?.status(), 401)
  await inTime(shortLife, async () => {
    await load(world)
    // A refusal may leave the player without an event.
    assert.equal(await Promise.race([page.evaluate(sought), sleep(5_000)]), 'there')
  })
})

/** Returns a picture in one color (https://www.w3.org/TR/png-3/). */
function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const named = Buffer.concat([Buffer.from(type), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(named))
    return Buffer.concat([length, named, sum])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0], 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc((width + 1) * height))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Returns this number of seconds of noise at 16 kHz, 16 bits, one channel. */
function wav(seconds: number): Buffer {
  const rate = 16_000
  const data = randomBytes(seconds * rate * 2)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(data.length, 40)
  return Buffer.concat([head, data])
}
