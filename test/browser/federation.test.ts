import assert from 'node:assert/strict'
import { openPage } from '../support/clients/browser.ts'
import { memberXml } from '../support/providers/federation.ts'
import { asFederation, federationSettings, signedAggregate } from '../support/providers/federation-flow.ts'
import { startReverseProxy } from '../support/providers/reverse-proxy.ts'
import { testOn } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

testOn('sqlite', 'X12 in a real browser a user searches, and goes on to the institution', async t => {
  const front = await startReverseProxy(t)
  const members = Array.from({ length: 30 }, (_, at) =>
    memberXml({
      entityId: `https://idp${at}.example/idp`,
      name: `University ${at}`,
      address: `${front.address}/idp${at}`,
    }),
  )
  const { env } = federationSettings(t, { metadata: signedAggregate(members), settings: asFederation() })
  const service = await startService(t, { env: { ...env, CARREL_BASE_URL: front.address } })
  front.forwardTo(service.address)
  const page = await openPage(t)
  await page.goto(
    `${front.address}/api/authn/shibboleth?redirectUrl=${encodeURIComponent(`${front.address}/`)}`,
  )
  assert.match(await page.getByRole('status').innerText(), /^30 institutions, page 1 of 2$/)
  await page.getByRole('link', { name: 'Next page' }).click()
  assert.match(await page.getByRole('status').innerText(), /page 2 of 2/)
  await page.getByRole('searchbox', { name: /^Search for your institution/ }).fill('university 27')
  await page.getByRole('searchbox').press('Enter')
  assert.match(await page.getByRole('status').innerText(), /^1 institution$/)
  await page.getByRole('link', { name: 'University 27' }).click()
  await page.waitForURL(/\/idp27\/sso\?SAMLRequest=/)
})
