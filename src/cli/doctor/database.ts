import { isLoopbackName } from '../../lib/addresses.ts'
import { databaseAddress } from '../../lib/database-address.ts'
import type { Finding } from '../../lib/findings.ts'
import type { ConnectionLimit, ReplicaFacts, ServerFacts } from '../../storage/statements/inspect.ts'
import { type Check, findingsAbout } from './finding.ts'

const { ok, note, warning, error } = findingsAbout('database')

/** The oldest supported version of PostgreSQL (server_version_num), which docs/deployment.md names. */
const oldest = 140_000
/** The oldest version that can search for words in tables (docs/decisions/0038). */
const oldestToSearch = 170_000

/** Checks the PostgreSQL server: version, durability, room for the connections of a node, and the replica. */
export const checkDatabase: Check = function* ({ config: { database, workers }, store }) {
  const server = store?.server
  if (database.kind === 'embedded' || !server) return
  yield* checkServer(server, databaseAddress(database.url).hosts)
  yield* checkConnections(server.connectionLimits, database.poolSize, workers)
  if (server.replica) yield* checkReplica(server.replica)
}

function* checkServer(server: ServerFacts, hosts: readonly string[]): Iterable<Finding> {
  const { version, encoding, unsafeSettings, isEncrypted, standbysBehind } = server
  const shown = { version: Math.floor(version / 10_000), encoding }
  if (version < oldest) yield error('postgresql-old', shown)
  else if (encoding !== 'UTF8') yield error('postgresql-encoding', shown)
  else if (version < oldestToSearch) yield warning('postgresql-search', shown)
  else yield ok('postgresql-right', shown)
  if (unsafeSettings.length > 0) yield error('postgresql-unsafe', { settings: unsafeSettings })
  if (standbysBehind > 0) yield warning('standbys-behind', { standbys: standbysBehind })
  if (!isEncrypted && !hosts.every(isOwnMachine)) yield warning('connection-plain', { hosts })
}

/** True for this machine. No host, or a path, is a socket of it. */
const isOwnMachine = (host: string) => /^(\/.*)?$/.test(host) || isLoopbackName(host.toLowerCase())

/**
 * A node needs three pools, a fourth for exposed tables, a session look-up for each worker, and two
 * connections for housekeeping (deployment.md).
 */
function* checkConnections(
  limits: readonly ConnectionLimit[],
  poolSize: number,
  workers: number,
): Iterable<Finding> {
  const needed = 4 * poolSize + workers + 2
  const [narrowest] = limits.toSorted((one, other) => one.max - other.max)
  if (narrowest) {
    const { of, max } = narrowest
    const fitting = Math.max(1, Math.floor((max - workers - 2) / 4))
    if (needed > max) yield error('connections-lacking', { needed, of, max, fitting })
    else yield ok('connections-fit', { needed, of, max, nodes: Math.floor(max / needed) })
  }
  for (const { of, max, used } of limits)
    if (used > max * 0.9) yield warning('connections-used', { used, of, max })
}

const segment = 16 * 1024 ** 2
const stale = 60

function* checkReplica(replica: ReplicaFacts): Iterable<Finding> {
  if (replica.kind === 'unreachable') yield warning('replica-unreachable', { reason: replica.reason })
  else if (replica.kind === 'no-replica') yield error('replica-unusable', { reason: replica.reason })
  else {
    const { bytesBehind, secondsBehind } = replica
    const isBehind = bytesBehind > segment || (bytesBehind > 0 && (secondsBehind ?? 0) > stale)
    const lag = { bytesBehind, secondsBehind: secondsBehind === null ? null : Math.round(secondsBehind) }
    if (isBehind) yield warning('replica-stale', lag)
    else if (bytesBehind > 0) yield note('replica-behind', lag)
    else yield ok('replica-current')
  }
}
