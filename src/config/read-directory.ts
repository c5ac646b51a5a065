import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isLoopback, type LdapConfig, type LdapServer } from './providers.ts'
import { type Complain, readSecret, type SecretPlace, type Surroundings } from './read-secrets.ts'

/** Members that are different in the file. */
interface InFile {
  readonly servers: readonly string[]
  readonly startTls: boolean
  readonly allowUnencrypted: boolean
  readonly ca?: string
  /** Time limit in seconds. */
  readonly timeout: number
  readonly dn?: string
  readonly search?: {
    readonly base: string
    readonly filter: string
    readonly bindDn?: string
    readonly bindPassword?: SecretPlace
  }
  readonly groupSearch?: LdapConfig['groupSearch']
}
export type DirectoryBlock = Omit<LdapConfig, keyof InFile | 'find'> & InFile

/** Reads an LDAP directory from the configuration file. */
export function readDirectory(given: DirectoryBlock, where: string, surroundings: Surroundings): LdapConfig {
  const { complain } = surroundings
  const { servers, startTls, allowUnencrypted, ca, timeout, dn, search, groupSearch = null, ...rest } = given
  if (groupSearch !== null && !groupSearch.filter.includes('{dn}'))
    throw complain(`${where}.groupSearch.filter`, 'must contain {dn}')
  return {
    ...rest,
    servers: servers.map((url, at) => {
      const server = readServer(url, startTls)
      if (server === undefined) throw complain(`${where}.servers[${at}]`, 'is not the address of a server')
      if (server.security === 'none' && !allowUnencrypted && !isLoopback(url))
        throw complain(
          `${where}.servers[${at}]`,
          'would get passwords unencrypted: use ldaps://, or set startTls to true',
        )
      return server
    }),
    ca: ca === undefined ? null : readCertificates(ca, `${where}.ca`, surroundings),
    timeout: timeout * 1000,
    find: readFind(dn, search, where, surroundings),
    groupSearch,
  }
}

function readServer(url: string, startTls: boolean): LdapServer | undefined {
  const { protocol, hostname, port } = URL.parse(url) ?? {}
  if (!hostname) return undefined
  const isTls = protocol === 'ldaps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port ? Number(port) : isTls ? 636 : 389,
    security: isTls ? 'tls' : startTls ? 'start-tls' : 'none',
  }
}

function readFind(
  dn: string | undefined,
  search: InFile['search'],
  where: string,
  surroundings: Surroundings,
): LdapConfig['find'] {
  const { complain } = surroundings
  if ((dn === undefined) === (search === undefined)) throw complain(where, 'needs either dn or search')
  if (dn !== undefined) {
    // {user} must be a whole value, because only values are escaped.
    if (!/(^|[,+]) *[A-Za-z][\w.-]*=\{user\}( *[,+]|$)/.test(dn) || dn.split('{user}').length !== 2)
      throw complain(
        `${where}.dn`,
        'must contain {user} once, as a whole value: uid={user},ou=people,dc=example',
      )
    return { kind: 'name', dn }
  }
  const { base = '', filter = '', bindDn, bindPassword } = search ?? {}
  if (!filter.includes('{user}')) throw complain(`${where}.search.filter`, 'must contain {user}')
  const account =
    bindDn === undefined || bindPassword === undefined
      ? null
      : { dn: bindDn, password: readSecret(bindPassword, `${where}.search.bindPassword`, surroundings) }
  return { kind: 'search', base, filter, account }
}

function readCertificates(file: string, where: string, surroundings: Surroundings): string {
  const text = readText(resolve(dirname(surroundings.file), file), where, surroundings.complain)
  if (!/-----BEGIN CERTIFICATE-----/.test(text))
    throw surroundings.complain(where, 'has no certificate (PEM)')
  return text
}

function readText(path: string, where: string, complain: Complain): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw complain(where, `can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
