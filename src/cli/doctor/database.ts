import { isLoopbackName } from '../../lib/addresses.ts'
import { databaseAddress } from '../../lib/database-address.ts'
import { quantity } from '../../lib/quantities.ts'
import type { ConnectionLimit, ReplicaFacts, ServerFacts } from '../../storage/inspection.ts'
import { type Check, type Finding, findingsAbout } from './finding.ts'

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
  const said = `PostgreSQL ${Math.floor(version / 10_000)}, ${encoding}`
  if (version < oldest) yield error(`${said} is too old`, 'use PostgreSQL 14 or newer')
  else if (encoding !== 'UTF8')
    yield error(said, 'create the database with ENCODING UTF8, and copy the store there')
  else if (version < oldestToSearch)
    yield warning(`${said} can't search for words in tables`, 'use PostgreSQL 17 or newer')
  else yield ok(said)
  if (unsafeSettings.length > 0)
    yield error(
      `the server has ${unsafeSettings.join(', ')}: what was acknowledged may be lost when it fails`,
      'set it to on in postgresql.conf',
    )
  if (standbysBehind > 0)
    yield warning(
      `no commit waits for ${quantity(standbysBehind, 'standby')}: one that takes over may lack the last changes, and tokens revoked by them are good again`,
      'set synchronous_standby_names, unless none is ever promoted (docs/deployment.md)',
    )
  if (!isEncrypted && !hosts.every(isOwnMachine))
    yield warning(
      `the connection to ${hosts.join(', ')} is not encrypted: passwords' hashes and the signing secret cross the network`,
      'add ?sslmode=verify-full to CARREL_DATABASE_URL',
    )
}

/** True for this machine. No host, or a path, is a socket of it. */
const isOwnMachine = (host: string) => /^(\/.*)?$/.test(host) || isLoopbackName(host.toLowerCase())

const nameOf = { server: 'the server', role: 'this role', database: 'this database' } as const
const raise = {
  server: 'raise max_connections',
  role: 'raise it by ALTER ROLE … CONNECTION LIMIT',
  database: 'raise it by ALTER DATABASE … CONNECTION LIMIT',
} as const

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
    const said = `a node opens up to ${needed} connections, and the limit of ${nameOf[of]} is ${max}`
    const fitting = Math.max(1, Math.floor((max - workers - 2) / 4))
    if (needed > max)
      yield error(said, `set CARREL_DATABASE_POOL_SIZE to ${fitting} or less, or ${raise[of]}`)
    else yield ok(`${said}: room for ${quantity(Math.floor(max / needed), 'node')}`)
  }
  for (const { of, max, used } of limits)
    if (used > max * 0.9)
      yield warning(
        `${used} of ${max} connections of ${nameOf[of]} are in use`,
        `${raise[of]}, or lower CARREL_DATABASE_POOL_SIZE on every node`,
      )
}

const segment = 16 * 1024 ** 2
const stale = 60

function* checkReplica(replica: ReplicaFacts): Iterable<Finding> {
  const unset = 'correct CARREL_DATABASE_REPLICA_URL, or leave it out'
  if (replica.kind === 'unreachable')
    yield warning(`the replica can't be read: ${replica.reason}; the primary answers for it`, unset)
  else if (replica.kind === 'no-replica') yield error(`the replica can't be used: ${replica.reason}`, unset)
  else {
    const { bytesBehind, secondsBehind } = replica
    const isBehind = bytesBehind > segment || (bytesBehind > 0 && (secondsBehind ?? 0) > stale)
    const time = secondsBehind === null ? '' : `, its newest change ${Math.round(secondsBehind)} s old`
    const said = `the replica is ${bytesBehind.toLocaleString('en')} bytes behind${time}`
    if (isBehind)
      yield warning(
        `${said}: lists of epersons, groups and events are stale`,
        'check whether replay is paused or a long query holds it up (pg_stat_wal_receiver on the replica)',
      )
    else if (bytesBehind > 0) yield note(said)
    else yield ok('the replica has all that the primary has')
  }
}
