import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from '../support/clients/browser.ts'
import { makeClient, startClientPages, type Window } from '../support/clients/client-pages.ts'
import { startReverseProxy } from '../support/providers/reverse-proxy.ts'
import { test } from '../support/service/engines.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

const email = 'ruth@example.edu'

test('CL1 a page logs in by single sign-on: it leaves, comes back, and has a session', async t => {
  const ui = await startClientPages(t)
  const secret = { header: 'X-Proxy-Secret', value: 'known to the proxy and the service' }
  const users = { ruth: { 'X-Id': 'r-1', 'X-Mail': email } }
  const front = await startReverseProxy(t, { users, secret })
  const provider = {
    id: 'apache',
    kind: 'proxy',
    addresses: ['127.0.0.1'],
    secretHeader: secret.header,
    secret: { env: 'PROXY_SECRET' },
    attributes: { subject: 'X-Id', email: 'X-Mail' },
    loginUrl: `${front.loginPage}?target={target}`,
    logoutUrl: `${front.logoutPage}?target={target}`,
    create: true,
  }
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(file, JSON.stringify({ singleSignOn: { providers: [provider] } }))
  const service = await startService(t, {
    env: {
      CARREL_CONFIG: file,
      CARREL_BASE_URL: front.address,
      CARREL_ALLOWED_ORIGINS: ui.address,
      PROXY_SECRET: secret.value,
      CARREL_TRUSTED_PROXIES: '127.0.0.1',
    },
  })
  front.forwardTo(service.address)

  const tab = await (await openBrowser(t)).newPage()
  const load = async () => {
    await tab.locator('body[data-ready]').waitFor({ state: 'attached' })
    await makeClient(tab, front.address, { storage: 'session' })
    return tab.evaluate(async () => {
      const { client } = window as unknown as Window
      await client.resume()
      return { told: (window as unknown as Window).told, methods: await client.loginMethods() }
    })
  }
  await tab.goto(`${ui.address}/page?tab=1`)
  const before = await load()
  assert.deepEqual(before.told, [])
  assert.deepEqual(
    before.methods.map(method => method.scheme),
    ['password', 'shibboleth'],
  )
  await tab.goto(before.methods[1]?.location ?? '')
  await tab.getByLabel('User').fill('ruth')
  await tab.getByLabel('Password').fill('ruth')
  await tab.getByRole('button', { name: /^Log in/ }).click()
  await tab.waitForURL(`${ui.address}/page?tab=1`)
  assert.deepEqual((await load()).told, ['login in'])
  const known = () =>
    tab.evaluate(async () => (await (window as unknown as Window).client.status())._embedded.eperson?.email)
  assert.equal(await known(), email)

  await tab.reload()
  assert.deepEqual((await load()).told, [])
  assert.equal(await known(), email)
  const out = await tab.evaluate(() => (window as unknown as Window).client.logout())
  assert.match(out.provider ?? '', /\/api\/authn\/sso\/logout/)
  assert.equal(await known(), undefined)
})
