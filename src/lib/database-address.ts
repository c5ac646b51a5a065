/** What the session of a connection must be, as in libpq (https://www.postgresql.org/docs/current/libpq-connect.html). */
const sessions = ['any', 'read-write', 'read-only', 'primary', 'standby'] as const
export type SessionKind = (typeof sessions)[number]

/** The address of a database, which several servers may have. */
interface DatabaseAddress {
  /** The address of each server by itself, in the order in which they are tried. */
  readonly servers: readonly string[]
  readonly hosts: readonly string[]
  readonly session: SessionKind
  /** The address without user, password and parameters, for messages. */
  readonly name: string
}

/** Parameters of libpq that say which server to use, and that the driver doesn't know. */
const unknown = ['hostaddr', 'load_balance_hosts', 'service', 'servicefile']

/**
 * Reads an address as libpq does: hosts are separated by commas, with a port each or one port for all, in
 * front of the database's name or in the parameters `host` and `port`.
 * @returns a sentence's end if something isn't supported; undefined if it is no address at all
 */
export function readDatabaseAddress(text: string): DatabaseAddress | string | undefined {
  const [, user = '', authority, path = '', query = ''] =
    /^postgres(?:ql)?:\/\/([^/?#]*@)?([^/?#]*)(\/[^?#]*)?(?:\?(.*))?$/.exec(text) ?? []
  if (authority === undefined) return undefined
  const parameters = new URLSearchParams(query)
  const given = parameters.get('target_session_attrs') ?? 'any'
  const session = sessions.find(one => one === given)
  if (!session) return `target_session_attrs takes ${sessions.join(', ')}`
  const other = unknown.find(name => parameters.has(name))
  if (other !== undefined) return `${other} is not supported`

  const named = authority.split(',').map(one => /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(one))
  const hosts = parameters.get('host')?.split(',') ?? named.map(one => decoded(one?.[1] ?? ''))
  const ports = parameters.get('port')?.split(',') ?? named.map(one => one?.[2] ?? '')
  if (named.includes(null) || !hosts.every(host => host !== undefined)) return undefined
  if (ports.some(port => !/^\d*$/.test(port) || Number(port) > 65_535)) return undefined
  if (ports.length !== 1 && ports.length !== hosts.length)
    return `it names ${hosts.length} hosts and ${ports.length} ports: give one port, or one for each host`
  for (const name of ['target_session_attrs', 'host', 'port']) parameters.delete(name)
  const servers = hosts.map((host, at) => {
    const own = new URLSearchParams(parameters)
    const port = ports[ports.length === 1 ? 0 : at]
    if (host !== '') own.set('host', host.replace(/^\[(.+)\]$/, '$1'))
    if (port !== undefined && port !== '') own.set('port', port)
    return `postgres://${user}${path || '/'}${own.size === 0 ? '' : `?${own}`}`
  })
  const places = hosts.map((host, at) => [host, ports[ports.length === 1 ? 0 : at]].filter(Boolean).join(':'))
  return { servers, hosts, session, name: `postgres://${places.join(',')}${path}` }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Reads an address that the settings have accepted. */
export function databaseAddress(text: string): DatabaseAddress {
  const read = readDatabaseAddress(text)
  if (typeof read !== 'object')
    throw new Error(`the address of the database is not valid${read ? `: ${read}` : ''}`)
  return read
}
