import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { extname, join, normalize } from 'node:path'
import type { TestContext } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { atEnd } from '../support/service/at-end.ts'
import { passwordOf } from '../support/service/service.ts'

/**
 * DSpace's own user interface, unmodified, as its build left it. It is large, and no package: `DSPACE_INTERFACE`
 * names one or more folders of builds, separated by colons (docs/how-to/dspace-interface.md says how to make one).
 */
export const builds = (process.env.DSPACE_INTERFACE ?? '').split(':').filter(folder => folder !== '')

const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.json5': 'application/json',
  '.svg': 'image/svg+xml',
}

/**
 * Serves a build, as `npm run serve` of the interface does without rendering on the server.
 * @param rest where the service is
 * @returns the origin
 */
export async function serveInterface(
  t: TestContext,
  folder: string,
  rest: { readonly host: string; readonly port: number; readonly nameSpace: string },
): Promise<string> {
  const baseUrl = `http://${rest.host}:${rest.port}${rest.nameSpace}`
  const config = JSON.parse(readFileSync(join(folder, 'assets/config.json'), 'utf8')) as { rest: object }
  const server = createServer((request, response) => {
    const path = normalize(decodeURI((request.url ?? '/').split('?')[0] ?? '/'))
    if (path === '/assets/config.json') {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ ...config, rest: { ...config.rest, ssl: false, ...rest, baseUrl } }))
      return
    }
    // Languages have a hash in their name, which only its server knows.
    const file = join(folder, path.replace(/^(\/assets\/i18n\/[\w-]+)\.[0-9a-f]{32}\.json$/, '$1.json'))
    const found = path !== '/' && !path.includes('..') && extname(path) !== '' && existsSync(file)
    if (!found && extname(path) !== '' && !path.includes('/bitstreams/')) {
      response.statusCode = 404
      response.end()
      return
    }
    response.setHeader(
      'content-type',
      mediaTypes[found ? extname(path) : '.html'] ?? 'application/octet-stream',
    )
    response.end(readFileSync(found ? file : join(folder, 'index.html')))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

/** @returns a port that nobody listens on: links begin with the address before the service has one */
export async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** A request that was not answered with 2xx or 3xx, or not at all. */
export interface Failure {
  readonly step: string
  readonly method: string
  readonly path: string
  readonly status: number | 'failed'
}

/** A person at the interface, and what their browser asks the service for. */
export class Walker {
  readonly page: Page
  readonly failures: Failure[] = []
  /** Every request to the service: `METHOD path`. */
  readonly requests: string[] = []
  readonly #origin: string
  readonly #service: string
  #step = 'start'
  #open = new Set<Request>()

  constructor(page: Page, origin: string, service: string) {
    this.page = page
    this.#origin = origin
    this.#service = service
    const isOurs = (request: Request) => request.url().startsWith(service)
    page.on('request', request => {
      if (!isOurs(request)) return
      this.#open.add(request)
      this.requests.push(`${request.method()} ${this.#pathOf(request)}`)
    })
    page.on('requestfinished', async request => {
      this.#open.delete(request)
      if (!isOurs(request)) return
      const status = (await request.response())?.status() ?? 0
      if (status >= 400) this.#fail(request, status)
    })
    page.on('requestfailed', request => {
      this.#open.delete(request)
      if (isOurs(request) && request.failure()?.errorText !== 'net::ERR_ABORTED')
        this.#fail(request, 'failed')
    })
  }

  #pathOf(request: Request): string {
    return request.url().slice(this.#service.length)
  }

  #fail(request: Request, status: Failure['status']): void {
    this.failures.push({ step: this.#step, method: request.method(), path: this.#pathOf(request), status })
  }

  /** Names what is done from now on. */
  step(name: string): void {
    this.#step = name
  }

  /** Opens a page by its address. */
  async open(path: string): Promise<void> {
    await this.page.goto(this.#origin + path, { waitUntil: 'domcontentloaded' })
    await this.settle()
  }

  /** Waits until nothing is asked any more, and nothing turns. */
  async settle(): Promise<void> {
    let quiet = 0
    for (let n = 0; n < 200 && quiet < 4; n++) {
      await this.page.waitForTimeout(100)
      const turns = await this.page
        .locator('ds-loading:visible')
        .count()
        .catch(() => 1)
      quiet = this.#open.size === 0 && turns === 0 ? quiet + 1 : 0
    }
  }

  /** Whether something still turns: a page that never gets its answer. */
  async spins(): Promise<boolean> {
    return (await this.page.locator('ds-loading:visible').count()) > 0
  }

  /** What a person reads on the page. */
  async text(): Promise<string> {
    return this.page.locator('body').innerText()
  }

  /** @throws AssertionError with what is there instead */
  async sees(...texts: readonly string[]): Promise<void> {
    let missing = texts
    for (let n = 0; n < 300; n++) {
      const text = await this.text()
      missing = texts.filter(one => !text.includes(one))
      if (missing.length === 0) return
      await this.page.waitForTimeout(100)
    }
    assert.fail(`${missing.join(', ')} not on ${this.page.url()}:\n${await this.text()}`)
  }

  /** Clicks the first button with this text. */
  async press(text: string): Promise<void> {
    await this.page.locator('button:visible', { hasText: text }).first().click()
    await this.page.waitForTimeout(200)
  }

  async logIn(email: string): Promise<void> {
    this.step(`log in as ${email}`)
    await this.open('/login')
    await this.page.locator('input[type=email]:visible').first().fill(email)
    await this.page.locator('input[type=password]:visible').first().fill(passwordOf(email))
    await this.page.locator('ds-log-in button[type=submit]:visible').first().click()
    await this.page.locator('[data-test="user-menu"], #dropdownUser').first().waitFor()
    await this.settle()
  }

  /** The cookie that the interface keeps the token in. */
  async isLoggedIn(): Promise<boolean> {
    return (await this.page.context().cookies()).some(({ name }) => name === 'dsAuthInfo')
  }

  async logOut(): Promise<void> {
    this.step('log out')
    await this.page.locator('[data-test="user-menu"], #dropdownUser').first().click()
    await this.page.locator('[data-test="logout-button"], ds-log-out button').first().click()
    await this.settle()
    assert.equal(await this.isLoggedIn(), false)
  }

  /** Follows the link of a file on the page, whose content the browser shows. @returns the content */
  async downloads(uuid: string): Promise<string> {
    this.step(`download ${uuid}`)
    const link = this.page.locator(`a[href="/bitstreams/${uuid}/download"]:visible`).first()
    // It would open another tab.
    await this.page.goto(this.#origin + (await link.getAttribute('href')), { waitUntil: 'commit' })
    await this.page.waitForURL(url => url.href.startsWith(this.#service))
    return this.text()
  }

  /** @throws AssertionError with each request that was refused, but for those that DSpace itself refuses */
  assertNoFailures(): void {
    assert.deepEqual(
      this.failures.filter(({ path, status }) => status !== 404 || !isUnset.test(path)),
      [],
    )
  }
}

/**
 * Properties and scripts that are 404 in DSpace, too, where they are not configured, and a group that the interface asks for
 * before it has created one.
 */
const isUnset = /^\/api\/((config\/properties|system\/scripts)\/|eperson\/groups\/undefined$)/
