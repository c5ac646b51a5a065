import type { TestContext } from 'node:test'
import type { BrowserContext, Page as Tab } from 'playwright-core'
import type * as Downloads from '../../../packages/client/src/downloads.ts'
import type * as Core from '../../../packages/client/src/index.ts'
import type * as Processes from '../../../packages/client/src/processes.ts'
import type * as Uploads from '../../../packages/client/src/uploads.ts'
import { type FaultyLine, type Page, startFaultyLine } from '../service/faulty-line.ts'
import { type Service, startService } from '../service/service.ts'
import { openBrowser } from './browser.ts'
import { bundle, entries } from './bundles.ts'
import { root, ruth } from './carrel-client.ts'

/** The members that these tests add to the window of a page. */
export interface Window {
  readonly carrel: typeof Core & typeof Downloads & typeof Uploads & typeof Processes
  client: Core.Client
  told: string[]
}

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>A page</title>
<link rel="icon" href="data:,">
<script type="module">
import * as core from '/client/index.js'
import * as downloads from '/client/downloads.js'
import * as uploads from '/client/uploads.js'
import * as processes from '/client/processes.js'
window.carrel = { ...core, ...downloads, ...uploads, ...processes }
window.told = []
document.body.dataset.ready = ''
</script>
<body></body>
</html>`

let served: Promise<ReadonlyMap<string, Page>> | undefined

async function makePages(): Promise<ReadonlyMap<string, Page>> {
  const files = await bundle(entries)
  return new Map<string, Page>([
    ['/page', { type: 'text/html; charset=utf-8', body: page }],
    ...[...files].map(([name, body]): [string, Page] => [
      `/client/${name}`,
      { type: 'text/javascript', body },
    ]),
  ])
}

/** Starts a server of pages on an origin of its own. */
export async function startClientPages(t: TestContext): Promise<FaultyLine> {
  served ??= makePages()
  return startFaultyLine(t, () => 'http://127.0.0.1:1', await served)
}

export interface PageWorld {
  readonly service: Service
  /** A connection with the public address of the service, which also serves pages of that origin. */
  readonly line: FaultyLine
  readonly context: BrowserContext
  /** Opens a tab with a page that has loaded the client; of the service's origin by default. */
  open(origin?: 'same' | 'other'): Promise<Tab>
}

/** Starts a service with an eperson and an administrator, and pages of its origin and of another one. */
export async function startPageWorld(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<PageWorld> {
  served ??= makePages()
  const pages = await served
  let address = ''
  const line = await startFaultyLine(t, () => address, pages)
  const other = await startClientPages(t)
  const service = await startService(t, {
    env: { CARREL_BASE_URL: line.address, CARREL_ALLOWED_ORIGINS: other.address, ...env },
  })
  address = service.address
  await service.addEperson(ruth)
  await service.addEperson(root, { admin: true })
  const context = await openBrowser(t)
  return {
    service,
    line,
    context,
    open: async (origin = 'same') => {
      const tab = await context.newPage()
      await tab.goto(`${origin === 'same' ? line.address : other.address}/page`)
      await tab.locator('body[data-ready]').waitFor({ state: 'attached' })
      return tab
    },
  }
}

/** Options of a client that can be passed to a page. */
interface PageOptions {
  readonly storage?: 'memory' | 'session' | 'local'
  readonly shared?: boolean
  readonly retries?: { readonly longest: number }
}

/**
 * Creates the client of a tab as `window.client`. @param url the service; the empty string stands for the
 * origin of the page
 */
export const makeClient = (tab: Tab, url = '', options: PageOptions = {}): Promise<void> =>
  tab.evaluate(
    ([url, options]) => {
      const here = window as unknown as Window
      here.client = here.carrel.createClient(url, options)
      here.client.onSession((session, why) => here.told.push(`${why} ${session ? 'in' : 'out'}`))
    },
    [url, options] as const,
  )
