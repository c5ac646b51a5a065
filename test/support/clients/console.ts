import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { AxeResults } from 'axe-core'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import * as terms from '../../../console/src/i18n/terms.ts'
import { type Archive, fillArchive } from '../data/archive.ts'
import { type ReverseProxy, startReverseProxy } from '../providers/reverse-proxy.ts'
import { isLong } from '../scale.ts'
import { repository } from '../service/process.ts'
import { passwordOf, type Service, startService } from '../service/service.ts'
import { openBrowser } from './browser.ts'

/**
 * The console in a real Chromium. A complaint of the browser about a policy, a script or a missing file fails
 * the test.
 */
export interface Desk {
  readonly page: Page
  readonly context: BrowserContext
  /** Opens a page of the console by its path, and waits until it is complete. */
  open(path: string): Promise<void>
  /** Logs in with the form. */
  logIn(email: string): Promise<void>
  /** Lets the test go on although the browser reports refusals, which the test expects. */
  expectRefusals(): void
  /** Fails if the browser has complained. */
  assertQuiet(): void
}

/** Starts a service whose base URL is the address that the browser opens. */
export async function startDeskService(
  t: TestContext,
  {
    below = '',
    env = {},
    proxy = {},
  }: {
    readonly below?: string
    readonly env?:
      | Readonly<Record<string, string>>
      | ((front: ReverseProxy) => Readonly<Record<string, string>>)
    /** The users who can log in at the proxy in front of the service. */
    readonly proxy?: Parameters<typeof startReverseProxy>[1]
  } = {},
): Promise<Service & { readonly address: string; readonly front: string }> {
  const front = await startReverseProxy(t, proxy)
  const more = typeof env === 'function' ? env(front) : env
  const service = await startService(t, { env: { CARREL_BASE_URL: front.address + below, ...more } })
  front.forwardTo(service.address)
  return { ...service, front: front.address + below }
}

export const phone = { width: 360, height: 740 }
export const screen = { width: 1440, height: 900 }

/** Screen sizes by their width in px. */
export const sizes = { '360': phone, '1440': screen } as const
const themes = ['light', 'dark'] as const

interface Look {
  readonly size?: { readonly width: number; readonly height: number }
  readonly theme?: (typeof themes)[number]
}

export async function openDesk(
  t: TestContext,
  address: string,
  { size = screen, theme = 'light' }: Look = {},
): Promise<Desk> {
  const context = await openBrowser(t, size)
  const page = await context.newPage()
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
  const complaints: string[] = []
  let refusals = false
  const watch = (tab: Page) => {
    tab.on('console', message => {
      if (!['error', 'warning'].includes(message.type())) return
      if (refusals && /status of 4\d\d/.test(message.text())) return
      complaints.push(`${message.text()} ${message.location().url}`)
    })
    tab.on('pageerror', error => complaints.push(String(error)))
    tab.on('crash', () => complaints.push('the page crashed'))
  }
  context.on('page', watch)
  watch(page)
  const open = async (path: string) => {
    await page.goto(`${address}${path === '' ? '/' : `/console/${path}`}`)
    try {
      await settled(page)
    } catch (error) {
      const shown = await page.locator('html').innerText({ timeout: 1_000 }).catch(String)
      throw new Error(`${path} shows ${JSON.stringify(shown)}; ${complaints.join('; ')}`, { cause: error })
    }
  }
  return {
    page,
    context,
    open,
    logIn: async email => {
      await open('login')
      await page.getByLabel('Email address').fill(email)
      await page.getByLabel('Password', { exact: true }).fill(passwordOf(email))
      await page.getByRole('main').getByRole('button', { name: 'Log in', exact: true }).click()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      await settled(page)
    },
    expectRefusals: () => {
      refusals = true
    },
    assertQuiet: () => assert.deepEqual(complaints, []),
  }
}

export const administrator = 'ada@example.org'

type DeskService = Awaited<ReturnType<typeof startDeskService>>

/**
 * Starts a service with the small archive, and opens the console; logged in as an administrator by default.
 */
export async function openArchive(
  t: TestContext,
  {
    as = administrator,
    below = '',
    env = {},
    proxy = {},
    ...look
  }: Look & Parameters<typeof startDeskService>[1] & { readonly as?: string | null } = {},
): Promise<Archive & { readonly service: DeskService; readonly desk: Desk; readonly page: Page }> {
  const service = await startDeskService(t, { below, env, proxy })
  const archive = await fillArchive(service)
  const desk = await openDesk(t, service.front, look)
  if (as !== null) await desk.logIn(as)
  return { ...archive, service, desk, page: desk.page }
}

/** Finds a button by its exact name: “Delete” doesn't find “Delete: letter.txt”. */
export const button = (page: Page | Locator, name: string | RegExp): Locator =>
  page.getByRole('button', { name, exact: true })

export const dialog = (page: Page): Locator => page.getByRole('dialog')

/** Waits for a toast with this text, which is shown for some seconds. */
export const said = (page: Page, text: string | RegExp): Promise<void> =>
  page.locator('.toasts').getByText(text).first().waitFor()

/** Opens the menu of a page and chooses an entry. */
export async function choose(page: Page, name: string): Promise<void> {
  await button(page, 'Actions').click()
  await button(page, name).click()
  await dialog(page).waitFor()
}

/** Shows what a phone has behind one button above a table; a wider screen shows it anyway. */
export async function showTools(page: Page): Promise<void> {
  await settled(page)
  const more = button(page, 'What else can be done')
  if ((await more.isVisible()) && (await more.getAttribute('aria-expanded')) === 'false') await more.click()
}

/** Waits until nothing is loading. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction(
    () => document.querySelector('.skeleton, .progress, main [aria-busy="true"]') === null,
  )
}

/** axe-core, minified because each page has to parse it. */
const axe = readFileSync(join(repository, 'node_modules/axe-core/axe.min.js'), 'utf8')

/** In CI, axe checks only eight rows of a table: rows differ only in their values, and each costs time. */
const looked = { exclude: isLong ? [] : ['tbody > tr:nth-child(n + 9)'] }

/** Asserts WCAG 2.2 AA, and axe's best practices. */
export async function assertAccessible(page: Page, what: string): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  // Other results than violations are not needed, and take time to describe and send.
  const violations = (await page.evaluate(
    `axe
      .run(${JSON.stringify(looked)}, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
        resultTypes: ['violations'],
      })
      .then(({ violations }) => violations)`,
  )) as AxeResults['violations']
  assert.deepEqual(
    violations.map(({ id, help, nodes }) => ({
      id,
      help,
      where: nodes.map(node => `${node.target.join(' ')}: ${node.failureSummary}`).slice(0, 3),
    })),
    [],
    what,
  )
}

/** Terms of the API that nobody would take for a word of the language, such as `audit-events` or `ORIGINAL`. */
const rawTerms = new Set(
  [terms.everybody, terms.administration].flatMap(kinds =>
    Object.values(kinds).flatMap(table =>
      Object.keys(table).filter(term => /[a-z][-._][a-z]|^-|^[A-Z]{2}|^(eperson|bitstream)s?$/.test(term)),
    ),
  ),
)
const jargon = /(?<![\w./-])(e-?persons?|bitstreams?|bundles?|entit(y|ies)|Entität(en)?)(?![\w-])/i

/**
 * Asserts that the page says everything in words. Data, code and messages of the service may contain terms of
 * the API.
 */
export async function assertInWords(page: Page, what: string): Promise<void> {
  const shown = await page.evaluate(() => {
    const isData = (node: Node | null) =>
      ((node instanceof Element ? node : node?.parentElement) ?? document.body).closest(
        'bdi, code, pre, textarea, script, dl.record dt, body [lang="en"]',
      ) !== null
    const texts: string[] = []
    const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
    for (let node = all.nextNode(); node; node = all.nextNode()) {
      if (isData(node)) continue
      if (node instanceof Element)
        for (const name of ['aria-label', 'title', 'placeholder']) texts.push(node.getAttribute(name) ?? '')
      else texts.push(node.textContent ?? '')
    }
    return texts.map(text => text.trim()).filter(text => text !== '')
  })
  const raw = shown.filter(text => rawTerms.has(text) || jargon.test(text))
  assert.deepEqual([...new Set(raw)], [], `${what} shows terms of the API`)
}

/** Asserts that nothing is cut off at the side. Wider content must scroll in a frame of its own. */
export async function assertFits(page: Page, what: string): Promise<void> {
  const [wide, room] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ])
  assert.ok((wide ?? 0) <= (room ?? 0), `${what} is ${wide} px wide, and there are ${room}`)
}

/**
 * Takes a picture of a page, and checks that nothing is cut off and that it is accessible; in the long run in
 * both themes. Themes differ only in style sheets, so a page is loaded once for both, beginning with the
 * theme of the last check.
 *
 * @param what is shown, for the name of the picture and for faults
 * @returns all faults at once, because it takes long to reach a page
 */
export async function lookAt({ page }: Desk, what: string): Promise<readonly Error[]> {
  const faults: Error[] = []
  const isDark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)
  const inOrder = isDark ? themes.toReversed() : themes
  for (const theme of isLong ? inOrder : inOrder.slice(0, 1)) {
    await page.emulateMedia({ colorScheme: theme })
    await settled(page)
    await takePicture(page, `${what}-${theme}`)
    for (const check of [assertFits, assertAccessible, assertInWords])
      await check(page, `${what}-${theme}`).catch((error: Error) => faults.push(error))
  }
  return faults
}

/** Returns the condition in the address of a table. */
export const conditionOf = (page: Page): string => new URL(page.url()).searchParams.get('q') ?? ''

/** Waits until a table or an answer has this number of rows on all of its pages together. */
export async function found(page: Page, n: number): Promise<void> {
  await settled(page)
  const all = new RegExp(`of ${n.toLocaleString('en-GB')}(?![\\d,])`)
  await page.locator('.pager').filter({ hasText: all }).waitFor()
}

const artefacts = join(repository, 'test/artefacts/console')

/** Takes a picture for people to look at; only in the long run. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (!isLong) return
  mkdirSync(artefacts, { recursive: true })
  await page.screenshot({ path: join(artefacts, `${name}.png`), animations: 'disabled' })
}
