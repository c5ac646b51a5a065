import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { openPage } from '../support/clients/browser.ts'
import { startUserInterface, tokenOn } from '../support/clients/user-interface.ts'
import { startLiars, truth } from '../support/providers/lying-flow.ts'
import { clientSecret, clientSecretVariable } from '../support/providers/openid-provider.ts'
import { startReverseProxy } from '../support/providers/reverse-proxy.ts'
import { atEnd } from '../support/service/at-end.ts'
import { testOn } from '../support/service/engines.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

const { providers } = await startLiars()
after(() => providers.stop())

/**
 * Starts a server of pages that embed an address. A page without a server would count as one of the Internet.
 */
async function startPages(t: TestContext) {
  const shown = new Map<string, string>()
  const server = createServer((request, response) => {
    const frame = shown.get(request.url ?? '') ?? ''
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(
        `<!doctype html><title>Signed out</title><iframe src="${frame.replaceAll('&', '&amp;')}"></iframe>`,
      )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    /** @returns the address of the page */
    embed: (frame: string) => {
      shown.set('/page', frame)
      return `${origin}/page`
    },
  }
}

testOn('sqlite', 'X7 a browser shows the answer in the provider’s page, and in no other', async t => {
  const front = await startReverseProxy(t)
  const ui = await startUserInterface(t, front.address)
  const file = join(temporaryFolder(t), 'carrel.json')
  const [own, hostile] = [await startPages(t), await startPages(t)]
  const lie = { discovery: (truth: object) => ({ ...truth, end_session_endpoint: `${own.origin}/bye` }) }
  const settings = { ...providers.settings(truth, lie), create: true, frontChannelLogout: true }
  writeFileSync(file, JSON.stringify({ singleSignOn: { providers: [settings] } }))
  const service = await startService(t, {
    env: {
      CARREL_CONFIG: file,
      CARREL_BASE_URL: front.address,
      CARREL_ALLOWED_ORIGINS: ui.origin,
      [clientSecretVariable]: clientSecret,
    },
  })
  front.forwardTo(service.address)

  const page = await openPage(t)
  const frame = new URL(`${front.address}/api/authn/sso/oidc/logout/${truth}`)
  frame.searchParams.set('iss', settings.issuer)
  const logIn = async () => {
    await page.goto(ui.origin)
    await page.getByRole('button', { name: 'Log in with oidc', exact: true }).click()
    await page.locator('body[data-state="logged in"]').waitFor()
    return (await tokenOn(page)) ?? assert.fail()
  }
  /** Returns the content of the service's frame in a page. */
  const framedBy = async (pages: typeof own, sid: string) => {
    frame.searchParams.set('sid', sid)
    await page.goto(pages.embed(frame.href))
    const [, inside] = page.frames()
    assert.ok(inside)
    await inside.waitForLoadState()
    return { url: inside.url(), title: await inside.title() }
  }

  const token = await logIn()
  const blocked = page.waitForEvent('requestfailed')
  const refused = await framedBy(hostile, 'guessed')
  assert.equal((await blocked).failure()?.errorText, 'net::ERR_BLOCKED_BY_RESPONSE')
  assert.notEqual(refused.title, 'The logout was received')
  assert.equal(await service.client().isLoggedIn(token), true)

  const shown = await framedBy(own, `session-of-${truth}`)
  assert.deepEqual(shown, { url: frame.href, title: 'The logout was received' })
  assert.equal(await service.client().isLoggedIn(token), false)
})
