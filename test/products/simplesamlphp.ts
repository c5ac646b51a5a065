import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { freePort } from '../support/service/postgres-server.ts'
import { folderOfWorkers, give, startApache } from './apache.ts'
import { type Guide, openGuide } from './guide.ts'
import { needPackages } from './packages.ts'

/**
 * simpleSAMLphp from Debian's packages, set up by its guide, with its configuration in a folder of its own.
 */
export interface SimpleSamlPhp {
  readonly guide: Guide
  /** The folder of Carrel's configuration. */
  readonly carrelFolder: string
  readonly origin: string
  /** Replaces a text in one of its files. @returns a function that restores the file */
  replace(what: string, by: string, name: string): () => void
  /** Writes one of its files. */
  write(name: string, content: string | Buffer): void
  /** Fetches its metadata for Carrel, as the guide does. */
  fetchMetadata(): Promise<void>
}

const packages = ['apache2', 'simplesamlphp', 'libapache2-mod-php', 'php-xml', 'php-mbstring']
const login = { user: 'ruth', password: 'correct horse battery staple' }

export async function startSimpleSamlPhp(
  t: TestContext,
  /** Carrel's public address. */
  address: string,
): Promise<SimpleSamlPhp> {
  await needPackages(...packages)
  const folder = folderOfWorkers(t)
  const [config, carrelFolder] = [join(folder, 'config'), join(folder, 'carrel')]
  for (const one of [config, carrelFolder, join(folder, 'sessions'), join(folder, 'temporary')]) {
    mkdirSync(one)
    give(one)
  }
  cpSync('/etc/simplesamlphp', config, { recursive: true })
  mkdirSync(join(config, 'cert'))
  const port = await freePort()
  const origin = `https://localhost:${port}`
  const guide = openGuide('sso-simplesamlphp', {
    '/etc/simplesamlphp': config,
    '/etc/carrel': carrelFolder,
    'https://idp.example.edu': origin,
    'https://repo.example.edu/server': address,
  })
  await guide.sh('-keyout /etc/carrel/sp.key')
  await guide.sh('-keyout /etc/simplesamlphp/cert/idp.key')
  cpSync(join(carrelFolder, 'sp.crt'), join(config, 'cert/carrel.crt'))
  const ours = `
$config['metadatadir'] = '${config}/metadata/';
$config['attributenamemapdir'] = '${config}/attributemap/';
$config['tempdir'] = '${folder}/temporary';
$config['loggingdir'] = '${folder}';
$config['logging.handler'] = 'file';
$config['statistics.out'] = [];
`
  const php = (marker: string) => guide.block('php', marker)
  const files = {
    'config.php': `${readFileSync(join(config, 'config.php'), 'utf8')}${php('baseurlpath')}${ours}`,
    'authsources.php': php('exampleauth:UserPass'),
    'metadata/saml20-idp-hosted.php': php('PersistentNameID'),
    'metadata/saml20-sp-remote.php': php('AssertionConsumerService'),
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(config, name), content)
  await startApache(t, {
    folder,
    port,
    modules: ['php8.2'],
    site: `SetEnv SIMPLESAMLPHP_CONFIG_DIR ${config}
AddHandler application/x-httpd-php .php
DirectoryIndex index.php
php_value opcache.enable 0
php_value session.save_path ${folder}/sessions
${readFileSync('/etc/simplesamlphp/apache.conf', 'utf8')}`,
  })
  const log = () => readFileSync(join(folder, 'error.log'), 'utf8')
  const fetchMetadata = () => guide.sh('curl', { log })
  await fetchMetadata()
  return {
    guide,
    carrelFolder,
    origin,
    fetchMetadata,
    write: (name, content) => writeFileSync(join(config, name), content),
    replace: (what, by, name) => {
      const file = join(config, name)
      const content = readFileSync(file, 'utf8')
      assert.ok(content.includes(what), `${name} has ${what}`)
      writeFileSync(file, content.replace(what, by))
      return () => writeFileSync(file, content)
    },
  }
}

/** Fills in its form. */
export async function logInAtSimpleSamlPhp(page: Page): Promise<void> {
  await page.locator('input[name=username]').fill(login.user)
  await page.locator('input[name=password]').fill(login.password)
  await page.locator('button[type=submit], input[type=submit]').first().click()
}
