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
 * Folders of DSpace's own user interface, unmodified, as its build left it. It is large and not available as
 * a package, so `DSPACE_INTERFACE` names one or more folders of builds, separated by colons
 * (docs/how-to/dspace-interface.md explains how to make one).
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

/** Default lifetime of a token in ms, and age in ms at which the interface refreshes one in the walk. */
const tokenLifetime = 30 * 60 * 1000
const refreshAfter = 20_000

/**
 * Serves a build, like `npm run serve` of the interface without rendering on the server.
 *
 * @param rest the address of the service
 * @returns the origin
 */
export async function serveInterface(
  t: TestContext,
  folder: string,
  rest: { readonly host: string; readonly port: number; readonly nameSpace: string },
): Promise<string> {
  const baseUrl = `http://${rest.host}:${rest.port}${rest.nameSpace}`
  const config = JSON.parse(readFileSync(join(folder, 'assets/config.json'), 'utf8')) as {
    readonly rest: object
    readonly auth?: object
  }
  const server = createServer((request, response) => {
    const path = normalize(decodeURI((request.url ?? '/').split('?')[0] ?? '/'))
    if (path === '/assets/config.json') {
      response.setHeader('content-type', 'application/json')
      const auth = { ...config.auth, rest: { timeLeftBeforeTokenRefresh: tokenLifetime - refreshAfter } }
      response.end(
        JSON.stringify({ ...config, auth, rest: { ...config.rest, ssl: false, ...rest, baseUrl } }),
      )
      return
    }
    // Names of language files contain a hash, which only the interface's own server knows.
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

/** @returns a port on which nothing listens, because links contain the address before the service has one */
export async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** A request that was not answered with 2xx or 3xx, or not answered at all. */
export interface Failure {
  readonly step: string
  readonly method: string
  readonly path: string
  readonly status: number | 'failed'
}

interface Place {
  readonly name: string
  /** The origin of the interface. */
  readonly origin: string
  /** The base URL of the service. */
  readonly service: string
}

/** A folder for pictures of every page, for people to look at. */
const pictures = process.env.DSPACE_PICTURES

/** Selector of an enabled button; the interface disables buttons in its own way. */
export const enabled = ':not(.disabled):not([aria-disabled="true"])'

/** A script that keeps the notifications of a page, which disappear by themselves. */
export const keepNotes = `globalThis.notes = new Set();
setInterval(() => {
  for (const note of document.querySelectorAll('ds-notification')) notes.add(note.innerText)
}, 100)`

/** A person who uses the interface, and the requests of their browser to the service. */
export class Walker {
  readonly page: Page
  readonly failures: Failure[] = []
  /** Every request to the service, as `METHOD path`. */
  readonly requests: string[] = []
  readonly #name: string
  readonly #origin: string
  readonly #service: string
  readonly #refusals: { readonly status: number; readonly path: string }[] = []
  #step = 'start'
  #pictures = 0
  #open = new Set<Request>()

  /** @param name of the walk */
  constructor(page: Page, { name, origin, service }: Place) {
    this.page = page
    this.#name = name.replace(/[^\w.-]+/g, '_').slice(0, 40)
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
      // The interface tries to show each file as a picture, which fails for other files.
      const isPicture = request.resourceType() === 'image'
      if (isOurs(request) && !isPicture && request.failure()?.errorText !== 'net::ERR_ABORTED')
        this.#fail(request, 'failed')
    })
  }

  #pathOf(request: Request): string {
    return request.url().slice(this.#service.length)
  }

  #fail(request: Request, status: Failure['status']): void {
    this.failures.push({ step: this.#step, method: request.method(), path: this.#pathOf(request), status })
  }

  /** Names the following steps. */
  step(name: string): void {
    this.#step = name
  }

  /** Opens a page by its address. */
  async open(path: string): Promise<void> {
    this.step(path)
    await this.page.goto(this.#origin + path, { waitUntil: 'domcontentloaded' })
    await this.settle()
    await this.#acceptCookies()
    await this.picture()
  }

  /**
   * Answers the question about cookies, which lies over the page. For a logged-in eperson, the answer is kept
   * at the service.
   */
  async #acceptCookies(): Promise<void> {
    const accept = this.page.locator('button:visible', { hasText: /^(That's|That’s) ok/ })
    if ((await accept.count()) === 0) return
    await accept.first().click()
    await this.settle()
  }

  /** Takes a picture, if there is a folder for it. */
  async picture(): Promise<void> {
    if (pictures === undefined) return
    const name = `${String(++this.#pictures).padStart(3, '0')} ${this.#step}`.replace(/[^\w.-]+/g, '_')
    await this.page.screenshot({ path: join(pictures, `${this.#name}-${name.slice(0, 90)}.png`) })
  }

  /** Waits until no requests are made and no spinner is visible. */
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

  /** True if a spinner is still visible, because a request was never answered. */
  async spins(): Promise<boolean> {
    return (await this.page.locator('ds-loading:visible').count()) > 0
  }

  /** Returns the visible text of the page. */
  async text(): Promise<string> {
    return this.page.locator('body').innerText()
  }

  /**
   * Returns the visible text with the notifications shown since the page was loaded, which disappear after
   * some seconds.
   */
  async #textAndNotes(): Promise<string> {
    const notes = await this.page
      .evaluate<string>('[...(globalThis.notes ?? [])].join("\\n")')
      .catch(() => '')
    return `${await this.text()}\n${notes}`
  }

  /** Waits for texts. @throws AssertionError with the text of the page */
  async sees(...texts: readonly string[]): Promise<void> {
    let missing = texts
    for (let n = 0; n < 300; n++) {
      const text = await this.#textAndNotes()
      missing = texts.filter(one => !text.includes(one))
      if (missing.length === 0) return this.picture()
      await this.page.waitForTimeout(100)
    }
    assert.fail(`${missing.join(', ')} not on ${this.page.url()}:\n${await this.text()}`)
  }

  /** Waits until a text has disappeared. */
  async seesNo(text: string): Promise<void> {
    for (let n = 0; n < 300; n++) {
      if (!(await this.text()).includes(text)) return
      await this.page.waitForTimeout(100)
    }
    assert.fail(`${text} still on ${this.page.url()}`)
  }

  /** Clicks the first visible match. */
  async click(selector: string): Promise<void> {
    this.step(selector)
    await this.page.locator(selector).filter({ visible: true }).first().click()
    await this.settle()
    await this.picture()
  }

  /** Fills fields, and gives the form time to notice, which takes a while after the last key. */
  async fill(fields: Readonly<Record<string, string>>): Promise<void> {
    for (const [selector, value] of Object.entries(fields))
      await this.page.locator(selector).filter({ visible: true }).first().fill(value)
    await this.page.waitForTimeout(1_000)
  }

  /** Clicks the first button with this text. */
  async press(text: string): Promise<void> {
    await this.page.locator('button:visible', { hasText: text }).first().click()
    await this.page.waitForTimeout(200)
  }

  /** Submits the login form. */
  async tryLogIn(email: string, password: string): Promise<void> {
    await this.open('/login')
    this.step(`log in as ${email}`)
    await this.fill({ 'input[type=email]': email, 'input[type=password]': password })
    await this.page.locator(`ds-log-in button[type=submit]:visible${enabled}`).first().click()
  }

  async logIn(email: string): Promise<void> {
    await this.tryLogIn(email, passwordOf(email))
    await this.page.locator('[data-test="user-menu"], #dropdownUser').first().waitFor()
    await this.settle()
  }

  /** Waits for another request like this, because some are sent a while after the page reports success. */
  async sends(request: string, work: () => Promise<void> = async () => {}): Promise<void> {
    const count = () => this.requests.filter(one => one.startsWith(request)).length
    const before = count()
    await work()
    for (let n = 0; n < 400 && count() === before; n++) await this.page.waitForTimeout(100)
    assert.ok(count() > before, `the interface sends ${request}`)
    await this.settle()
  }

  /** Opens the form of an eperson from the list of people. */
  async edits(email: string): Promise<void> {
    await this.click(`tr:has-text("${email}") .access-control-editEPersonButton, tr:has-text("${email}") a`)
  }

  /** True if the interface has a cookie with a token. */
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
    // A click would open another tab.
    await this.page.goto(this.#origin + (await link.getAttribute('href')), { waitUntil: 'commit' })
    await this.page.waitForURL(url => url.href.startsWith(this.#service))
    return this.text()
  }

  /** @throws AssertionError with each refused request, except those that DSpace refuses, too */
  assertNoFailures(): void {
    assert.deepEqual(
      this.failures.filter(
        failure =>
          !(failure.status === 404 && isUnset.test(failure.path)) &&
          !isUncounted(failure) &&
          !this.#expected(failure.path, failure.status),
      ),
      [],
    )
  }

  #expected(path: string, status: Failure['status']): boolean {
    return this.#refusals.some(one => one.status === status && path.startsWith(one.path))
  }

  /** Announces refusals in this walk, because the person has no right. */
  expects(status: number, ...paths: readonly string[]): void {
    this.#refusals.push(...paths.map(path => ({ status, path })))
  }
}

/**
 * True for the view that the interface counts during a login, while the CSRF pair changes (C6). Its refusal
 * is not shown.
 */
const isUncounted = ({ step, path, status }: Failure) =>
  step.startsWith('log in as ') && path === '/api/statistics/viewevents' && status === 403

/**
 * Paths of properties and scripts that are 404 in DSpace, too, if they are not configured, and of a group
 * that the interface requests before it has created one.
 */
const isUnset = /^\/api\/((config\/properties|system\/scripts)\/|eperson\/groups\/undefined$)/
