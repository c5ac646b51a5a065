import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPage } from '../support/clients/browser.ts'
import { atEnd } from '../support/service/at-end.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { folderOfWorkers, startApache } from './apache.ts'
import { openGuide } from './guide.ts'
import { needPackages } from './packages.ts'
import { logInAtSimpleSamlPhp, startSimpleSamlPhp } from './simplesamlphp.ts'
import { assertUploadsPass, relayTo, uploadSettings } from './uploads.ts'
import { arriveAnew, isLive, logIn, logOutThere, pretend, startWorld } from './world.ts'

async function start(t: TestContext) {
  await needPackages('apache2', 'libapache2-mod-shib', 'curl')
  const folder = folderOfWorkers(t)
  const etc = join(folder, 'shibboleth')
  const port = await freePort()
  const site = `https://localhost:${port}`
  const address = `${site}/server`
  const idp = await startSimpleSamlPhp(t, address)
  cpSync('/etc/shibboleth', etc, { recursive: true })
  const guide = openGuide('sso-mod-shib', {
    '/etc/shibboleth': etc,
    'https://repo.example.edu': site,
    'https://idp.example.edu': idp.origin,
  })
  idp.write('metadata/saml20-sp-remote.php', guide.block('php', 'Shibboleth.sso/SAML2/POST'))
  idp.replace("'host' =>", `${guide.block('php', "'scope'")} 'host' =>`, 'metadata/saml20-idp-hosted.php')
  for (const step of ['shib-keygen', 'shibboleth2.xml', 'attribute-map.xml']) await guide.sh(step)
  idp.write('cert/shib.crt', readFileSync(join(etc, 'sp-signing-cert.pem')))
  const env = await startShibd(t, folder, etc)
  await guide.sh('shibd -t', { env })

  const secret = 'the result of openssl rand -hex 32'
  const world = await startWorld(t, {
    folder,
    config: guide.block('json', 'singleSignOn'),
    address,
    env: { PROXY_SECRET: secret, CARREL_TRUSTED_PROXIES: '127.0.0.1', ...uploadSettings },
  })
  const [, host = ''] =
    /<VirtualHost[^>]*>\n([\s\S]*)<\/VirtualHost>/.exec(guide.block('apache', 'AuthType shibboleth')) ?? []
  await startApache(t, {
    folder,
    port,
    modules: ['proxy', 'proxy_http', 'shib'],
    global: `ShibConfig ${etc}/shibboleth2.xml\n${readFileSync('/etc/apache2/conf-available/shib.conf', 'utf8')}`,
    // The certificate is the test's own.
    site: host.replaceAll(/^\s*SSL.*$/gm, '').replaceAll('http://127.0.0.1:8080', world.service.address),
    env: { ...env, PROXY_SECRET: secret },
  })
  return { world, secret, idp, port }
}

/** @returns environment variables by which shibd and the module find each other */
async function startShibd(t: TestContext, folder: string, etc: string): Promise<Record<string, string>> {
  // shibd appends its own name to each folder.
  const [state, logs, sockets] = ['state', 'logs', 'sockets'].map(name => {
    mkdirSync(join(folder, name, 'shibboleth'), { recursive: true })
    return join(folder, name)
  }) as [string, string, string]
  const env = { SHIBSP_CFGDIR: folder, SHIBSP_CACHEDIR: state, SHIBSP_LOGDIR: logs, SHIBSP_RUNDIR: sockets }
  const logger = join(etc, 'shibd.logger')
  const log = join(logs, 'shibd.log')
  writeFileSync(logger, readFileSync(logger, 'utf8').replaceAll('/var/log/shibboleth', logs))
  const shibd = spawn('/usr/sbin/shibd', ['-F', '-f', '-p', join(folder, 'shibd.pid')], {
    env: { PATH: process.env.PATH, ...env },
    stdio: 'ignore',
  })
  const ended = once(shibd, 'exit')
  atEnd(t, async () => {
    shibd.kill('SIGTERM')
    await ended
  })
  while (!existsSync(join(sockets, 'shibboleth/shibd.sock'))) {
    assert.equal(shibd.exitCode, null, existsSync(log) ? readFileSync(log, 'utf8') : '')
    await sleep(50)
  }
  return env
}

const login = {
  scheme: 'shibboleth',
  atProvider: logInAtSimpleSamlPhp,
  expected: { email: 'ruth@example.edu', groups: ['Staff'] },
}

test('X1 X2 mod_shib as its guide sets it up: login, and logout here and there', async t => {
  const { world } = await start(t)
  const page = await openPage(t)
  const token = await logIn(page, world, login)
  await logOutThere(page, world)
  await page.waitForURL(world.ui)
  assert.equal(await isLive(world, token), false)
  // The identity provider asks again, and the same user is recognized.
  await logIn(page, world, login)
  assert.equal((await world.service.storage.identities.listIdentities()).length, 1)
  const [ruth] = await world.service.storage.people.listEpersons()
  assert.deepEqual([ruth?.firstName, ruth?.lastName], ['Ruth', 'Example'])
})

test('X2 X3 nothing that a client says of itself gets through mod_shib', async t => {
  const { world, secret, idp } = await start(t)
  const page = await openPage(t)
  const without = await pretend(page, world, 'shibboleth', secret)
  assert.ok(without.startsWith(idp.origin), without)
  // The provider sends no affiliation for this user, so nothing overwrites the forged one.
  idp.replace("'eduPersonScopedAffiliation'", "'unused'", 'authsources.php')
  const expected = { email: 'ruth@example.edu', groups: [] }
  await logIn(page, world, { ...login, expected })
  assert.equal(await pretend(page, world, 'shibboleth', secret), world.ui)
  const shown = { state: 'logged in', method: 'shibboleth', ...expected }
  assert.deepEqual(await arriveAnew(page, world), shown)
  const [ruth] = await world.service.storage.identities.listIdentities()
  assert.notEqual(ruth?.subject, 'r-1')
})

test('D13 I7 UP1 EA7 behind Apache with mod_shib, uploads of any size that the settings allow arrive', async t => {
  const { world, port } = await start(t)
  await assertUploadsPass(world.service, `${await relayTo(t, port, `localhost:${port}`)}/server`)
})
