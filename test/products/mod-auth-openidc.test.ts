import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openPage } from '../support/clients/browser.ts'
import {
  clientSecret,
  providerPasswordOf,
  startOpenIdProvider,
} from '../support/providers/openid-provider.ts'
import { atEnd } from '../support/service/at-end.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { folderOfWorkers, startApache } from './apache.ts'
import { openGuide } from './guide.ts'
import { needPackages } from './packages.ts'
import { assertUploadsPass, relayTo, uploadSettings } from './uploads.ts'
import { arriveAnew, isLive, logIn, logOutThere, pretend, startWorld, tryLogIn } from './world.ts'

const users = {
  ruth: { sub: 'r-1', email: 'ruth@example.edu', email_verified: true, groups: ['member', 'staff'] },
  zoe: { sub: 'z-1', email: 'zoe@example.edu', email_verified: true, given_name: 'Zoë', family_name: 'Łoś' },
  eve: { sub: 'e-1', email: 'ruth@example.edu', email_verified: false, groups: ['staff'] },
}

async function start(t: TestContext, given: Readonly<Record<string, string | undefined>> = {}) {
  await needPackages('apache2', 'libapache2-mod-auth-openidc')
  const folder = folderOfWorkers(t)
  const port = await freePort()
  const site = `https://localhost:${port}`
  const address = `${site}/server`
  const callbacks = [`${address}/api/authn/oidc/callback`]
  const provider = await startOpenIdProvider({ publicAddresses: [address], callbacks })
  atEnd(t, () => provider.stop())
  for (const [name, claims] of Object.entries(users)) provider.users.set(name, claims)
  const guide = openGuide('sso-mod-auth-openidc', {
    'https://repo.example.edu': site,
    'https://id.example.edu': provider.issuer,
    'OIDCClientID carrel': `OIDCClientID ${provider.settings('company').clientId}`,
  })
  const secret = 'the second result of openssl rand'
  const config = guide.block('json', 'singleSignOn')
  const env = { PROXY_SECRET: secret, CARREL_TRUSTED_PROXIES: '127.0.0.1', ...uploadSettings }
  const world = await startWorld(t, { folder, config, address, env })
  const [, host = ''] =
    /<VirtualHost[^>]*>\n([\s\S]*)<\/VirtualHost>/.exec(guide.block('apache', 'OIDCClientID')) ?? []
  await startApache(t, {
    folder,
    port,
    modules: ['proxy', 'proxy_http', 'auth_openidc'],
    // Name and certificate are the test's own.
    site: host
      .replaceAll(/^\s*(ServerName|SSL).*$/gm, '')
      .replaceAll('http://127.0.0.1:8080', world.service.address),
    env: { OIDC_SECRET: clientSecret, OIDC_PASSPHRASE: 'a passphrase', PROXY_SECRET: secret, ...given },
  })
  return { world, secret, provider, port }
}

const login = (user: keyof typeof users, groups: readonly string[]) => ({
  scheme: 'oidc',
  expected: { email: users[user].email, groups },
  atProvider: async (page: Page) => {
    await page.getByLabel('User').fill(user)
    await page.getByLabel('Password').fill(providerPasswordOf(user))
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
  },
})

test('X1 X2 mod_auth_openidc as its guide sets it up: login, and logout here and there', async t => {
  const { world } = await start(t)
  const page = await openPage(t)
  const token = await logIn(page, world, login('ruth', ['Staff']))
  await logOutThere(page, world)
  await page.waitForURL(world.ui)
  assert.equal(await isLive(world, token), false)
  // The provider asks again, because the user may be another one.
  await logIn(page, world, login('zoe', []))
  const [zoe] = (await world.service.storage.people.listEpersons()).filter(({ email }) => /zoe/.test(email))
  assert.deepEqual([zoe?.firstName, zoe?.lastName], ['Zoë', 'Łoś'])
  assert.equal(await tryLogIn(await openPage(t), world, login('eve', [])), 403)
})

test('X2 X3 nothing that a client says of itself gets through mod_auth_openidc', async t => {
  const { world, secret, provider } = await start(t)
  const page = await openPage(t)
  const without = await pretend(page, world, 'oidc', secret)
  assert.ok(without.startsWith(provider.issuer), without)
  await logIn(page, world, login('zoe', []))
  // The provider sends no groups for this user, so nothing overwrites the forged ones.
  assert.equal(await pretend(page, world, 'oidc', secret), world.ui)
  const { email } = users.zoe
  const shown = { state: 'logged in', email, method: 'oidc', groups: [] }
  assert.deepEqual(await arriveAnew(page, world), shown)
})

test('X2 a proxy that has a placeholder for a secret is not believed', async t => {
  const { world } = await start(t, { PROXY_SECRET: undefined })
  assert.equal(await tryLogIn(await openPage(t), world, login('ruth', [])), 401)
})

test('D13 I7 UP1 EA7 behind Apache with mod_auth_openidc, uploads of any size that the settings allow arrive', async t => {
  const { world, port } = await start(t)
  await assertUploadsPass(world.service, `${await relayTo(t, port, `localhost:${port}`)}/server`)
})
