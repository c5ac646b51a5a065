import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openPage } from '../support/clients/browser.ts'
import { identity } from '../support/providers/certificates.ts'
import { startReverseProxy } from '../support/providers/reverse-proxy.ts'
import { logInAtSimpleSamlPhp, startSimpleSamlPhp } from './simplesamlphp.ts'
import { isLive, logIn, logOutThere, startWorld, tryLogIn, type World } from './world.ts'

const login = {
  scheme: 'shibboleth',
  atProvider: logInAtSimpleSamlPhp,
  expected: { email: 'ruth@example.edu', groups: ['Staff'] },
}

async function start(t: TestContext) {
  const { privateKey: key, certificate: cert } = identity('front')
  const front = await startReverseProxy(t, { tls: { key, cert } })
  const address = `${front.address}/server`
  const idp = await startSimpleSamlPhp(t, address)
  const config = idp.guide.block('json', 'singleSignOn')
  const world = await startWorld(t, { folder: idp.carrelFolder, config, address })
  front.forwardTo(world.service.address)
  const logOutAtProvider = `${idp.origin}/simplesamlphp/saml2/idp/initSLO.php?RelayState=/simplesamlphp/logout.php`
  return { idp, world, logOutAtProvider }
}

test('X1 X2 X4 simpleSAMLphp as its guide sets it up: login, and logout here and there', async t => {
  const { world } = await start(t)
  assert.deepEqual(await errorsIn(world), [])
  const page = await openPage(t)
  const posted = page.waitForRequest(request => request.url().endsWith('/sso/saml/acs'))
  const token = await logIn(page, world, login)
  const form = new URLSearchParams((await posted).postData() ?? '')
  const response = Buffer.from(form.get('SAMLResponse') ?? '', 'base64').toString()
  assert.match(response, /EncryptedAssertion/)
  assert.match(response, /aes128-cbc/)

  await logOutThere(page, world)
  await page.waitForURL(world.ui)
  assert.equal(await isLive(world, token), false)
  // The provider asks again, and the same user is recognized.
  await logIn(page, world, login)
  assert.equal((await world.service.storage.identities.listIdentities()).length, 1)
})

test('X4 a logout at simpleSAMLphp ends the token', async t => {
  const { world, logOutAtProvider } = await start(t)
  const page = await openPage(t)
  const token = await logIn(page, world, login)
  await page.goto(logOutAtProvider)
  await page.waitForURL(/logout\.php/)
  assert.match(await page.innerText('body'), /You have been logged out/)
  assert.equal(await isLive(world, token), false)
})

test('X2 X4 simpleSAMLphp that is set up otherwise than its guide says', async t => {
  const { idp, world, logOutAtProvider } = await start(t)
  const [hosted, remote] = ['metadata/saml20-idp-hosted.php', 'metadata/saml20-sp-remote.php']

  const noFormat = idp.replace("'NameIDFormat' =>", "'unused' =>", hosted)
  await idp.fetchMetadata()
  assert.match((await errorsIn(world)).join(), /^error uni: it offers only transient NameIDs/)
  noFormat()
  await idp.fetchMetadata()
  assert.deepEqual(await errorsIn(world), [])

  const noNames = idp.replace(", 'name2oid'", '', hosted)
  assert.equal(await tryLogIn(await openPage(t), world, login), 403)
  noNames()

  const unsigned = idp.replace("sign.response' => true", "sign.response' => false", remote)
  assert.equal(await tryLogIn(await openPage(t), world, login), 401)
  unsigned()

  const otherCertificate = idp.replace('carrel.crt', 'idp.crt', remote)
  const stranger = await openPage(t)
  await stranger.goto(world.ui)
  await stranger.getByRole('button', { name: 'Log in with shibboleth', exact: true }).click()
  await stranger.getByText('Unable to validate signature').waitFor()
  otherCertificate()

  const encryption = "'assertion.encryption' => true"
  const encryptedNames = idp.replace(encryption, `${encryption}, 'nameid.encryption' => true`, remote)
  const page = await openPage(t)
  const ended = await logIn(page, world, login)
  await page.goto(logOutAtProvider)
  assert.equal(await isLive(world, ended), false)
  encryptedNames()

  idp.replace("'sign.logout' => true", "'sign.logout' => false", hosted)
  const kept = await logIn(page, world, login)
  await page.goto(logOutAtProvider)
  assert.equal(await isLive(world, kept), true)
})

const errorsIn = async (world: World) => (await world.complaints()).filter(one => one.startsWith('error'))
