import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { serverTime, startCarrel, threadsTime } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Measures people and groups in large numbers: 100,000 epersons, and 10,000 groups nested ten deep, each with
 * ten epersons. Requests pages and searches, one after another, and the session of an eperson in a group at
 * the bottom, as a login reads it.
 */
const people = 100_000
const groups = 10_000
const depth = 10
const rounds = 30
/** Target in ms. */
const bar = 50

/**
 * Statements that insert the rows on both engines; `number` runs from 1 to `last`. Group n is in group n − 1,
 * except for every tenth.
 */
const rows = (schema: string, series: (last: number) => string) => `
  INSERT INTO ${schema}eperson (uuid, email, email_key, first_name, last_name, name_key, enabled, password_stamp, session_key, stamp, created)
    SELECT '00000000-0000-4000-8000-1' || substr(CAST(100000000000 + number AS TEXT), 2), 'Person.' || number || '@example.org', 'person.' || number || '@example.org', 'Ruth', 'Number ' || number,
      'ruth number ' || number, 1, 0, '', 0, '2026-01-01T00:00:00Z' FROM ${series(people)};
  INSERT INTO ${schema}epersongroup (uuid, name, name_key, created, special)
    SELECT '00000000-0000-4000-8000-2' || substr(CAST(100000000000 + number AS TEXT), 2), 'Group ' || number, 'group ' || number, '2026-01-01T00:00:00Z', 0 FROM ${series(groups)};
  INSERT INTO ${schema}subgroup (parent, child)
    SELECT '00000000-0000-4000-8000-2' || substr(CAST(100000000000 + number AS TEXT), 2),
      '00000000-0000-4000-8000-2' || substr(CAST(100000000000 + number + 1 AS TEXT), 2) FROM ${series(groups)} WHERE number % ${depth} <> 0;
  INSERT INTO ${schema}membership (eperson, epersongroup)
    SELECT '00000000-0000-4000-8000-1' || substr(CAST(100000000000 + number AS TEXT), 2),
      '00000000-0000-4000-8000-2' || substr(CAST(100000000000 + 1 + number % ${groups} AS TEXT), 2) FROM ${series(people)};`

const uuid = (kind: 1 | 2, number: number) =>
  `00000000-0000-4000-8000-${kind}${String(100_000_000_000 + number).slice(1)}`
const bottom = uuid(2, depth)
const someone = uuid(1, depth - 1)

const addresses = {
  'first page of epersons': '/api/eperson/epersons',
  'last page of epersons': '/api/eperson/epersons?page=4999',
  'epersons by part of a name that one has': '/api/eperson/epersons/search/byMetadata?query=number%2077777',
  'epersons by part of a name that all have': '/api/eperson/epersons/search/byMetadata?query=ruth',
  'epersons by part of an address, none': '/api/eperson/epersons/search/byMetadata?query=nobody',
  'epersons by two letters': '/api/eperson/epersons/search/byMetadata?query=77',
  'epersons by address': '/api/eperson/epersons/search/byEmail?email=person.500@example.org',
  'members of a group': `/api/eperson/groups/${bottom}/epersons`,
  'epersons outside of a group': `/api/eperson/epersons/search/isNotMemberOf?query=&group=${bottom}`,
  'epersons outside of a group by name': `/api/eperson/epersons/search/isNotMemberOf?query=number%2077777&group=${bottom}`,
  'first page of groups': '/api/eperson/groups',
  'last page of groups': '/api/eperson/groups?page=499',
  'groups by part of a name': '/api/eperson/groups/search/byMetadata?query=oup%20777',
  'subgroups of a group': `/api/eperson/groups/${uuid(2, 1)}/subgroups`,
  'groups outside of a group': `/api/eperson/groups/search/isNotMemberOf?query=&group=${bottom}`,
  'groups of an eperson, through ten levels': `/api/eperson/epersons/${someone}/groups`,
}

/** @param server the folder of the database server, if there is one */
async function measure(name: string, folder: string, server?: string): Promise<void> {
  const service = await startCarrel(folder, { CARREL_WORKERS: '1', CARREL_LOGIN_ON_BEHALF_OF: 'true' })
  const { token, cookie } = await logIn(service.address)
  const administrator = { authorization: `Bearer ${token}`, cookie }
  const used = () => threadsTime(service.pid) + (server === undefined ? 0 : serverTime(server))
  for (const [what, path] of Object.entries(addresses)) {
    const times: number[] = []
    const work: number[] = []
    for (let round = 0; round < rounds; round++) {
      const before = used()
      const begin = performance.now()
      const response = await fetch(service.address + path, { headers: administrator })
      await response.arrayBuffer()
      work.push((used() - before) * 1_000)
      if (!response.ok) throw new Error(`${path}: ${response.status}`)
      times.push(performance.now() - begin)
    }
    const time = median(times)
    console.log(
      `${name}, ${what}: ${time.toFixed(1)} ms, at most ${Math.max(...times).toFixed(1)} ms; ${median(work).toFixed(1)} ms of processor time${time > bar ? ' — over the bar' : ''}`,
    )
  }
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const headers = { ...administrator, 'x-on-behalf-of': uuid(1, depth * (round + 1) - 1) }
    const begin = performance.now()
    // The first request on behalf of an eperson reads their session, as a login does.
    const response = await fetch(`${service.address}/api/authn/status`, { headers })
    await response.arrayBuffer()
    if (response.headers.get('x-acting-as') === null) throw new Error(`nobody: ${response.status}`)
    times.push(performance.now() - begin)
  }
  console.log(
    `${name}, the session of someone ten levels deep: ${median(times).toFixed(1)} ms, the event included`,
  )
  await service.stop()
}

const engines = process.argv.slice(2)

if (engines.length === 0 || engines.includes('sqlite')) {
  const folder = scratch()
  addPerson(folder, true)
  const db = new DatabaseSync(join(folder, 'carrel.db'))
  const begun = performance.now()
  db.exec(
    rows(
      '',
      last =>
        `(WITH RECURSIVE n(number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM n WHERE number < ${last}) SELECT number FROM n)`,
    ).replaceAll("0, '', 0,", "0, x'', 0,"),
  )
  console.log(`SQLite, adding everybody: ${((performance.now() - begun) / 1_000).toFixed(1)} s`)
  db.close()
  await measure('SQLite', folder)
}

if (engines.length === 0 || engines.includes('postgres')) {
  const server = await startPostgres({ flags: ['shared_buffers=512MB'] })
  process.env.CARREL_DATABASE_URL = server.url
  const folder = scratch()
  addPerson(folder, true)
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const begun = performance.now()
  await client.query(rows('carrel.', last => `generate_series(1, ${last}) AS number`))
  console.log(`PostgreSQL, adding everybody: ${((performance.now() - begun) / 1_000).toFixed(1)} s`)
  await client.query('VACUUM ANALYZE')
  await client.end()
  await measure('PostgreSQL', folder, server.folder)
  await server.remove()
}
