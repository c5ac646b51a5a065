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

/** In ms: that of a token, by default, and how old one gets in the walk before the interface refreshes it. */
const tokenLifetime = 30 * 60 * 1000
const refreshAfter = 20_000

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

interface Place {
  readonly name: string
  /** Of the interface. */
  readonly origin: string
  /** The base URL. */
  readonly service: string
}

/** A folder for pictures of every page, for somebody who wants to look at them. */
const pictures = process.env.DSPACE_PICTURES

/** Of a button: the interface has a way of its own to disable one. */
export const enabled = ':not(.disabled):not([aria-disabled="true"])'

/** Keeps the notifications of a page, which go away by themselves. */
export const keepNotes = `globalThis.notes = new Set();
setInterval(() => {
  for (const note of document.querySelectorAll('ds-notification')) notes.add(note.innerText)
}, 100)`

/** A person at the interface, and what their browser asks the service for. */
export class Walker {
  readonly page: Page
  readonly failures: Failure[] = []
  /** Every request to the service: `METHOD path`. */
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
      // The interface tries each file as a picture, and the browser takes nothing else for one.
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

  /** Names what is done from now on. */
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

  /** The question about cookies lies over the page; the answer of somebody who is logged in is kept with them. */
  async #acceptCookies(): Promise<void> {
    const accept = this.page.locator('button:visible', { hasText: /^(That's|That’s) ok/ })
    if ((await accept.count()) === 0) return
    await accept.first().click()
    await this.settle()
  }

  /** Keeps what is to be seen now, if there is a folder for it. */
  async picture(): Promise<void> {
    if (pictures === undefined) return
    const name = `${String(++this.#pictures).padStart(3, '0')} ${this.#step}`.replace(/[^\w.-]+/g, '_')
    await this.page.screenshot({ path: join(pictures, `${this.#name}-${name.slice(0, 90)}.png`) })
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

  /** The same with what the page has said and taken away since it was loaded: it does so after a few seconds. */
  async #textAndNotes(): Promise<string> {
    const notes = await this.page
      .evaluate<string>('[...(globalThis.notes ?? [])].join("\\n")')
      .catch(() => '')
    return `${await this.text()}\n${notes}`
  }

  /** @throws AssertionError with what is there instead */
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

  /** Waits until a text is there no more. */
  async seesNo(text: string): Promise<void> {
    for (let n = 0; n < 300; n++) {
      if (!(await this.text()).includes(text)) return
      await this.page.waitForTimeout(100)
    }
    assert.fail(`${text} still on ${this.page.url()}`)
  }

  /** Clicks the first of these. */
  async click(selector: string): Promise<void> {
    this.step(selector)
    await this.page.locator(selector).filter({ visible: true }).first().click()
    await this.settle()
    await this.picture()
  }

  /** Fills fields, and gives the form the time to notice: it does so some time after the last key. */
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

  /** Sends the form of the page for logging in. */
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

  /** Waits for another request like this: some are sent a while after the page has said that all is saved. */
  async sends(request: string, work: () => Promise<void> = async () => {}): Promise<void> {
    const count = () => this.requests.filter(one => one.startsWith(request)).length
    const before = count()
    await work()
    for (let n = 0; n < 400 && count() === before; n++) await this.page.waitForTimeout(100)
    assert.ok(count() > before, `the interface sends ${request}`)
    await this.settle()
  }

  /** Opens the page for changing somebody, from the list of people. */
  async edits(email: string): Promise<void> {
    await this.click(`tr:has-text("${email}") .access-control-editEPersonButton, tr:has-text("${email}") a`)
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

  /** What is refused in this walk, because the person may not do it. */
  expects(status: number, ...paths: readonly string[]): void {
    this.#refusals.push(...paths.map(path => ({ status, path })))
  }
}

/** The interface counts a view while somebody logs in and the CSRF pair changes (C6). It shows nothing if that is refused. */
const isUncounted = ({ step, path, status }: Failure) =>
  step.startsWith('log in as ') && path === '/api/statistics/viewevents' && status === 403

/**
 * Properties and scripts that are 404 in DSpace, too, where they are not configured, and a group that the interface asks for
 * before it has created one.
 */
const isUnset = /^\/api\/((config\/properties|system\/scripts)\/|eperson\/groups\/undefined$)/
