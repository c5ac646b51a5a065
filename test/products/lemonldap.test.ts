import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openPage } from '../support/clients/browser.ts'
import { identity } from '../support/providers/certificates.ts'
import { startReverseProxy } from '../support/providers/reverse-proxy.ts'
import { logInAtLemonLdap, startLemonLdap } from './lemonldap.ts'
import { isLive, logIn, logOutThere, startWorld, tryLogIn } from './world.ts'

const expected = { email: 'rtyler@badwolf.org', groups: ['Staff'] }
const byOpenId = { scheme: 'oidc', atProvider: logInAtLemonLdap, expected }
const bySaml = { ...byOpenId, scheme: 'shibboleth' }

async function start(t: TestContext, scheme: 'http' | 'https') {
  const { privateKey: key, certificate: cert } = identity('front')
  const front = await startReverseProxy(t, { tls: { key, cert } })
  const address = `${front.address}/server`
  return { front, address, portal: await startLemonLdap(t, address, scheme) }
}

interface Otherwise {
  readonly secret?: string
  /** A text in the guide's configuration of the portal that is replaced. */
  readonly replaced?: string | RegExp
  readonly by?: string
}

async function startOpenId(t: TestContext, { secret = plain, replaced = '', by = '' }: Otherwise = {}) {
  const { front, address, portal } = await start(t, 'http')
  await portal.sh('rotateOidcKeys')
  portal.write('carrel-oidc.json', 'oidcRPMetaDataOptions', text => {
    const written = text.replace('the secret', secret)
    const changed = written.replace(replaced, by)
    assert.equal(changed === written, replaced === '')
    return changed
  })
  await portal.sh('merge /etc/lemonldap-ng/carrel-oidc.json')
  const startCarrel = (change = (config: string) => config) =>
    startWorld(t, {
      folder: portal.carrelFolder,
      config: change(portal.guide.block('json', '"kind": "oidc"')),
      address,
      env: { OIDC_SECRET: secret },
    })
  const world = await startCarrel()
  front.forwardTo(world.service.address)
  return { portal, world, startCarrel, front }
}
/** Secrets in the form of a UUID, and with characters that HTTP Basic encodes. */
const [plain, odd] = ['de4f7b9c-0c3a-4b5e-9f12-7a6b5c4d3e2f', 'a+b/c=d%:e']

async function startSaml(t: TestContext) {
  const { front, address, portal } = await start(t, 'https')
  await portal.sh('openssl req')
  await portal.sh('samlServicePrivateKeySig')
  portal.write('carrel-saml.json', 'issuerDBSAMLActivation')
  await portal.sh('merge /etc/lemonldap-ng/carrel-saml.json')
  await portal.sh('/saml/metadata/idp')
  const config = portal.guide.block('json', '"kind": "saml"')
  const world = await startWorld(t, { folder: portal.carrelFolder, config, address })
  front.forwardTo(world.service.address)
  await portal.sh('addKey samlSPMetaDataXML')
  // The portal has read its configuration for `/saml/metadata/idp`, and looks for a newer one after its
  // `checkTime`.
  await wait(2_500)
  return { portal, world }
}

test('X1 X2 LemonLDAP::NG by OpenID Connect as its guide sets it up: login, and logout here and there', async t => {
  const { world, startCarrel } = await startOpenId(t)
  assert.deepEqual(await world.complaints(), [])
  const page = await openPage(t)
  const token = await logIn(page, world, byOpenId)
  // The portal recognizes the browser.
  const { atProvider: _form, ...again } = byOpenId
  await page.context().clearCookies({ domain: '127.0.0.1' })
  await page.evaluate('localStorage.clear()')
  await logIn(page, world, again)
  await logOutThere(page, world)
  await page.waitForURL(world.ui)
  assert.equal(await isLive(world, token), false)
  await logIn(page, world, byOpenId)

  const basic = await startCarrel(config => config.replace('"post"', '"basic"'))
  assert.deepEqual(await basic.complaints(), [], 'a plain secret may be sent either way')
})

test('X2 LemonLDAP::NG that is set up otherwise than its guide says', async t => {
  const verified = '"email_verified": "addressIsVerified;bool;auto",'
  const { world, startCarrel } = await startOpenId(t, { replaced: verified, secret: odd })
  assert.deepEqual(await world.complaints(), [])
  const basic = await startCarrel(config => config.replace('"post"', '"basic"'))
  assert.match((await basic.complaints()).join(), /^error company: .* set clientAuthentication to "post"/)
  assert.equal(await tryLogIn(await openPage(t), world, byOpenId), 403)

  const bySecret = await startOpenId(t, { replaced: '"RS256"', by: '"HS512"' })
  assert.equal(await tryLogIn(await openPage(t), bySecret.world, byOpenId), 401)
})

test('X7 the front-channel logout of LemonLDAP::NG 2.16 names a user and no session, which ends nothing', async t => {
  const options = [
    ['LogoutUrl', '"$1/logout/company"'],
    ['LogoutType', '"front"'],
    ['LogoutSessionRequired', '1'],
  ].map(([name, value]) => `"oidcRPMetaDataOptions${name}": ${value},`)
  const { portal, startCarrel, front } = await startOpenId(t, {
    replaced: /"(https:[^"]*)\/callback\/company",/,
    by: `"$1/callback/company", ${options.join(' ')}`,
  })
  const world = await startCarrel(config =>
    config.replace('"userInfo"', '"frontChannelLogout": true, "userInfo"'),
  )
  front.forwardTo(world.service.address)
  const page = await openPage(t)
  const token = await logIn(page, world, byOpenId)
  await page.goto(`${portal.origin}/?logout=1`)
  const frame = (await page.locator('iframe').getAttribute('src')) ?? ''
  assert.equal(new URL(frame).searchParams.get('sid'), 'rtyler')
  assert.equal((await page.goto(frame))?.status(), 200)
  assert.equal(await isLive(world, token), true)
})

test('X1 X2 X4 LemonLDAP::NG by SAML as its guide sets it up: login, and logout here and there', async t => {
  const { portal, world } = await startSaml(t)
  const complaints = await world.complaints()
  assert.deepEqual(
    complaints.filter(one => one.startsWith('error')),
    [],
  )
  const page = await openPage(t)
  const posted = page.waitForRequest(request => request.url().endsWith('/sso/saml/acs'))
  const token = await logIn(page, world, bySaml)
  const form = new URLSearchParams((await posted).postData() ?? '')
  const response = Buffer.from(form.get('SAMLResponse') ?? '', 'base64').toString()
  assert.match(response, /EncryptedAssertion/)
  await logOutThere(page, world)
  await page.waitForURL(world.ui)
  assert.equal(await isLive(world, token), false)

  const again = await logIn(page, world, bySaml)
  assert.equal((await world.service.storage.identities.listIdentities()).length, 1)
  // The portal calls Carrel in a frame.
  const answered = page.waitForResponse(answer => answer.url().includes('/saml/singleLogoutReturn'))
  await page.goto(`${portal.origin}/?logout=1`)
  await answered
  assert.equal(await isLive(world, again), false)
})
