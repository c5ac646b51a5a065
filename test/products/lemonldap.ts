import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { freePort } from '../support/service/postgres-server.ts'
import { run } from '../support/service/process.ts'
import { folderOfWorkers, give, startApache } from './apache.ts'
import { type Guide, openGuide } from './guide.ts'
import { needPackages } from './packages.ts'

/**
 * The portal of LemonLDAP::NG from Debian's packages, set up by its guide, with its configuration in a folder
 * of its own.
 */
export interface LemonLdap {
  readonly guide: Guide
  /** The folder of Carrel's configuration. */
  readonly carrelFolder: string
  readonly origin: string
  /** Writes the block of JSON that contains a text, as `/etc/lemonldap-ng/<name>`. */
  write(name: string, containing: string, change?: (text: string) => string): void
  /** Runs a block of the guide, with this portal's configuration. */
  sh(containing: string): Promise<void>
  /** Returns the end of its log, for messages of tests. */
  log(): string
}

const packages = [
  ...[
    'apache2',
    'libapache2-mod-fcgid',
    'lemonldap-ng',
    'libconvert-pem-perl',
    'liblasso-perl',
    'libxml-simple-perl',
  ],
  // Packages that they recommend.
  ...[
    'libcrypt-openssl-bignum-perl',
    'libemail-sender-perl',
    'libfcgi-perl',
    'libgd-securityimage-perl',
    'libimage-magick-perl',
    'libmime-tools-perl',
  ],
  ...['libio-string-perl', 'libstring-random-perl'],
]

/**
 * @param address Carrel's public address
 * @param scheme http for OpenID Connect, which Carrel accepts from a provider on the same machine; it would
 * not trust the test's certificate
 */
export async function startLemonLdap(
  t: TestContext,
  address: string,
  scheme: 'http' | 'https',
): Promise<LemonLdap> {
  await needPackages(...packages)
  const folder = folderOfWorkers(t)
  const [etc, state, carrelFolder] = ['etc', 'var', 'carrel'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const one of [etc, carrelFolder]) mkdirSync(one)
  cpSync('/var/lib/lemonldap-ng', state, { recursive: true })
  const ini = join(etc, 'lemonldap-ng.ini')
  const moved = (file: string) => readFileSync(file, 'utf8').replaceAll('/var/lib/lemonldap-ng', state)
  writeFileSync(ini, moved('/etc/lemonldap-ng/lemonldap-ng.ini').replace(/^checkTime.*$/m, 'checkTime = 1'))
  writeFileSync(join(state, 'conf/lmConf-1.json'), moved('/var/lib/lemonldap-ng/conf/lmConf-1.json'))
  const owned = await run('sh', ['-c', `[ $(id -u) != 0 ] || chown -R www-data:www-data ${folder}`])
  assert.equal(owned.code, 0, owned.stderr)
  const port = await freePort()
  const origin = `${scheme}://localhost:${port}`
  const guide = openGuide('sso-lemonldap', {
    '/etc/lemonldap-ng': etc,
    '/etc/carrel': carrelFolder,
    'https://auth.example.edu': origin,
    'https://repo.example.edu/server': address,
    '"domain": "example.edu"': '"domain": "localhost"',
    ...(scheme === 'http' && { '"securedCookie": 1': '"securedCookie": 0' }),
  })
  const errors = join(folder, 'error.log')
  const log = () => (existsSync(errors) ? readFileSync(errors, 'utf8').slice(-4_000) : '')
  const env = { LLNG_DEFAULTCONFFILE: ini }
  const sh = (containing: string) => guide.sh(containing, { env, cwd: folder, log })
  const write = (name: string, containing: string, change = (text: string) => text) => {
    writeFileSync(join(etc, name), change(guide.block('json', containing)))
    give(join(etc, name))
  }
  write('site.json', '"portal"')
  await sh('merge /etc/lemonldap-ng/site.json')
  const [, site = ''] =
    /<VirtualHost[^>]*>\n([\s\S]*)<\/VirtualHost>/.exec(
      readFileSync('/etc/lemonldap-ng/portal-apache2.X.conf', 'utf8'),
    ) ?? []
  await startApache(t, {
    folder,
    port,
    scheme,
    modules: ['fcgid', 'rewrite'],
    // Browsers accept no cookie for the domain .localhost.
    site: `${site.replace(/^\s*ServerName.*$/m, '')}\nHeader edit* Set-Cookie "; domain=[^;]*" ""`,
    global: `Include /etc/apache2/conf-available/javascript-common.conf\nFcgidIPCDir ${folder}/run\nFcgidProcessTableFile ${folder}/run/fcgid\nFcgidInitialEnv LLNG_DEFAULTCONFFILE ${ini}\nFcgidInitialEnv PATH /usr/bin:/bin\nFcgidMaxProcesses 2`,
  })
  return { guide, carrelFolder, origin, write, sh, log }
}

/** Fills in the portal's form, as a user of its demonstration. */
export async function logInAtLemonLdap(page: Page): Promise<void> {
  await page.locator('input[name=user]').fill('rtyler')
  await page.locator('input[name=password]').fill('rtyler')
  await page.locator('button[type=submit]').first().click()
}
