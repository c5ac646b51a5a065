import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { atEnd } from '../service/at-end.ts'
import { patience } from '../service/waiting.ts'
import { launchChromium } from './chromium.ts'

/** A real Chromium, shared by the tests of a file. Each user has cookies and storage of their own. */
let browser: Promise<Browser> | undefined

/** The folder for files that the browser writes outside of the profile; the library manages the profile. */
let scratch: string | undefined

after(async () => {
  await (await browser)?.close()
  if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
})

/**
 * @returns a user of the browser, without cookies; the user's tabs share cookies. The user is gone at the end
 * of the test.
 */
export async function openBrowser(
  t: TestContext,
  screen: { readonly width: number; readonly height: number } = { width: 1000, height: 700 },
): Promise<BrowserContext> {
  browser ??= launch()
  const context = await (await browser).newContext({
    ignoreHTTPSErrors: true,
    locale: 'en-GB',
    viewport: { ...screen },
  })
  context.setDefaultTimeout(patience)
  atEnd(t, () => context.close())
  return context
}

/** Opens a user of the browser with one tab. */
export const openPage = async (...of: Parameters<typeof openBrowser>): Promise<Page> =>
  (await openBrowser(...of)).newPage()

function launch(): Promise<Browser> {
  scratch = mkdtempSync(join(tmpdir(), 'carrel-test-browser-'))
  return launchChromium(scratch, patience)
}

/** Waits for this number of elements, and asserts that there are no more. */
export async function assertCount(found: Locator, count: number): Promise<void> {
  await found.nth(count - 1).waitFor()
  assert.equal(await found.count(), count)
}
