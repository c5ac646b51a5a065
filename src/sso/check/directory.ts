import { randomUUID } from 'node:crypto'
import type { LdapConfig, LdapServer } from '../../config/providers.ts'
import { isLoopbackName } from '../../lib/addresses.ts'
import { findIn } from '../ldap/directory.ts'
import { ServerFault } from '../ldap/inbox.ts'
import { converse } from '../ldap/servers.ts'
import { error, type Found, ok, warning } from './findings.ts'

/**
 * Searches each server of a directory for a name that doesn't exist, as a login would. No person's password
 * is sent.
 */
export async function* checkDirectory(config: LdapConfig): AsyncIterable<Found> {
  for (const server of config.servers) {
    if (server.security === 'none' && !isLoopbackName(server.host))
      yield warning(`${server.host}: passwords are sent unencrypted (allowUnencrypted)`)
    yield await checkServer(server, config)
  }
  if (config.find.kind === 'search' && config.find.account === null)
    yield warning('searches anonymously, which many directories do not allow: bindDn names an account')
  if (config.find.kind === 'name')
    yield ok(`logs people in as ${config.find.dn}; only a login shows whether there are such entries`)
  if (config.attributes.subject.toLowerCase() === 'dn')
    yield warning(
      'attributes.subject is the DN: it changes when somebody is renamed, and the next person of that name gets their eperson',
    )
  if (config.email.match)
    yield warning(
      'email.match: anyone who can set an address in the directory can take over the eperson with that address, unless they have a password here',
    )
}

async function checkServer(server: LdapServer, config: LdapConfig): Promise<Found> {
  const { host, port, security } = server
  const name = `${host}:${port} (${names[security]})`
  try {
    const entry = await converse(server, config, connection =>
      findIn(connection, config, `carrel-sso-check-${randomUUID()}`),
    )
    return config.find.kind === 'search' && entry !== undefined
      ? error(
          `${name}: the search finds somebody whose name is not theirs; is {user} in the filter where it counts?`,
        )
      : ok(config.find.kind === 'search' ? `${name}: a search works` : `${name}: can be reached`)
  } catch (cause) {
    if (!(cause instanceof ServerFault)) throw cause
    return error(`${name}: ${cause.message}`)
  }
}

const names = { tls: 'TLS', 'start-tls': 'StartTLS', none: 'unencrypted' } as const
