import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { identity } from '../support/providers/certificates.ts'
import { atEnd } from '../support/service/at-end.ts'
import { temporaryFolder } from '../support/service/service.ts'

/**
 * A real Apache from Debian's packages with TLS, with a configuration of its own; from /etc/apache2 it uses
 * only single modules.
 */
interface Apache {
  /** The folder to which it writes, and its workers, too. */
  readonly folder: string
  readonly port: number
  /** The content of the site's `<VirtualHost>`. */
  readonly site: string
  /** Modules in addition to those of every site, by the names of `a2enmod`. */
  readonly modules?: readonly string[]
  /** Configuration before the site. */
  readonly global?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  /** `http` needs no certificate. */
  readonly scheme?: 'http' | 'https'
}

const always = [
  'mpm_prefork',
  'authz_core',
  'authn_core',
  'authz_host',
  'authz_user',
  'alias',
  'dir',
  'env',
  'headers',
  'mime',
]
const available = '/etc/apache2/mods-available'

/** Creates a folder that Apache's workers (www-data if the tests run as root) may write to. */
export function folderOfWorkers(t: TestContext): string {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  give(folder)
  return folder
}

/** The id of Debian's user and group www-data (base-passwd). */
export const wwwData = 33
export const give = (path: string): void => {
  if (process.getuid?.() === 0) chownSync(path, wwwData, wwwData)
}

export async function startApache(t: TestContext, options: Apache): Promise<void> {
  const { folder, port, site, modules = [], global = '', env = {}, scheme = 'https' } = options
  const { certificate, privateKey } = identity('product')
  writeFileSync(join(folder, 'site.crt'), certificate)
  writeFileSync(join(folder, 'site.key'), privateKey)
  mkdirSync(join(folder, 'run'))
  give(join(folder, 'run'))
  const tls = `SSLEngine on\nSSLCertificateFile ${folder}/site.crt\nSSLCertificateKeyFile ${folder}/site.key`
  const loaded = [...always, ...(scheme === 'https' ? ['socache_shmcb', 'ssl'] : []), ...modules]
  const config = join(folder, 'apache.conf')
  writeFileSync(
    config,
    `ServerRoot ${folder}
ServerName localhost
PidFile ${folder}/apache.pid
ErrorLog ${folder}/error.log
DefaultRuntimeDir ${folder}/run
Listen 127.0.0.1:${port}
StartServers 2
MinSpareServers 1
${loaded.map(name => readFileSync(join(available, `${name}.load`), 'utf8').replaceAll(/^#.*\n/gm, '')).join('')}
TypesConfig /etc/mime.types
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
${global}
<VirtualHost 127.0.0.1:${port}>
ServerName localhost:${port}
UseCanonicalName Off
${scheme === 'https' ? tls : ''}
${site}
</VirtualHost>
`,
  )
  const child = spawn('/usr/sbin/apache2', ['-f', config, '-DFOREGROUND'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
    // With mpm_prefork, Apache sends SIGTERM to its whole process group, which would include the test.
    detached: true,
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const ended = once(child, 'exit')
  atEnd(t, async () => {
    child.kill('SIGTERM')
    await ended
  })
  const log = join(folder, 'error.log')
  const isReady = () => existsSync(log) && readFileSync(log, 'utf8').includes('resuming normal operations')
  while (!isReady()) {
    assert.equal(child.exitCode, null, complaints + (existsSync(log) ? readFileSync(log, 'utf8') : ''))
    await sleep(50)
  }
}
