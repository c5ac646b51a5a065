import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { carrel, serverTime, startCarrel, threadsTime } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Requests pages of long lists in DSpace's form, one after another: an item with 10,000 files, of which
 * anonymous callers see every second one, and 100,000 epersons, half of them in one group.
 */
const people = 100_000
const files = 10_000
const rounds = 50

/** Statements that insert the rows on both engines; `number` runs from 1 to `last`. */
const rows = (schema: string, series: (last: number) => string) => `
  INSERT INTO ${schema}audience (id, readers) VALUES (901, '[{"reader":"anonymous"}]'), (902, '[]');
  INSERT INTO ${schema}eperson (uuid, email, email_key, first_name, last_name, name_key, enabled, password_stamp, session_key, stamp, created)
    SELECT 'person-' || number, 'Person.' || number || '@example.org', 'person.' || number || '@example.org', 'Ruth', 'Number ' || number,
      'ruth number ' || number, 1, 0, '', 0, '2026-01-01T00:00:00Z' FROM ${series(people)};
  INSERT INTO ${schema}membership (eperson, epersongroup)
    SELECT 'person-' || (2 * number), (SELECT uuid FROM ${schema}epersongroup WHERE name = 'Half') FROM ${series(people / 2)};
  INSERT INTO ${schema}item (uuid, identifier, title, authors, metadata, collections, audience, fingerprint, created, modified)
    VALUES ('00000000-0000-4000-8000-000000000001', 'bench/1', 'Long', '[]', '{}', '[]', 901, '', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z');
  INSERT INTO ${schema}bundle (uuid, item, name, place)
    VALUES ('00000000-0000-8000-8000-100000000002', '00000000-0000-4000-8000-000000000001', 'ORIGINAL', 1);
  INSERT INTO ${schema}bitstream (uuid, item, bundle, name, place, mime_type, size, sha256, audience, created)
    SELECT '00000000-0000-4000-8000-1' || substr(CAST(100000000000 + number AS TEXT), 2), '00000000-0000-4000-8000-000000000001',
      'ORIGINAL', 'file ' || number, number, 'text/plain', 1, '', 901 + number % 2, '2026-01-01T00:00:00Z' FROM ${series(files)};`

const item = '/api/core/items/00000000-0000-4000-8000-000000000001'
const bundle = '/api/core/bundles/00000000-0000-8000-8000-100000000002'
const addresses = {
  'accessStatus of the item': `${item}/accessStatus`,
  'bundles of the item': `${item}/bundles`,
  'one file of the bundle': `${bundle}/bitstreams?size=1`,
  'twenty files at the end of the bundle': `${bundle}/bitstreams?page=249`,
  'first page of epersons': '/api/eperson/epersons',
  'last page of epersons': '/api/eperson/epersons?page=4999',
  'search with an empty query': '/api/eperson/epersons/search/byMetadata?query=',
  'search for part of a name': '/api/eperson/epersons/search/byMetadata?query=NUMBER%20777',
  groups: '/api/eperson/groups',
}

/** @param server the folder of the database server, if there is one */
async function measure(name: string, folder: string, server?: string): Promise<void> {
  const service = await startCarrel(folder, { CARREL_WORKERS: '1' })
  const { token, cookie } = await logIn(service.address)
  const administrator = { authorization: `Bearer ${token}`, cookie }
  const { _embedded } = (await (
    await fetch(`${service.address}/api/eperson/groups/search/byMetadata?query=half`, {
      headers: administrator,
    })
  ).json()) as { _embedded: { groups: { uuid: string }[] } }
  const group = _embedded.groups[0]?.uuid
  const all = {
    ...addresses,
    'members of a group': `/api/eperson/groups/${group}/epersons`,
    'last page of its members': `/api/eperson/groups/${group}/epersons?page=2499`,
    'its members by part of a name': `/api/eperson/epersons/search/isMemberOf?query=number%20777&group=${group}`,
    'its members by a name that all have': `/api/eperson/epersons/search/isMemberOf?query=ruth&group=${group}`,
    'those who are not in it': `/api/eperson/epersons/search/isNotMemberOf?query=&group=${group}`,
    'last page of those who are not in it': `/api/eperson/epersons/search/isNotMemberOf?query=&group=${group}&page=2499`,
    'those who are not in it by part of a name': `/api/eperson/epersons/search/isNotMemberOf?query=number%20777&group=${group}`,
  }
  const used = () => threadsTime(service.pid) + (server === undefined ? 0 : serverTime(server))
  for (const [what, path] of Object.entries(all)) {
    const times: number[] = []
    const work: number[] = []
    for (let round = -10; round < rounds; round++) {
      const before = used()
      const start = performance.now()
      const answer = await fetch(
        service.address + path,
        path.includes('/core/') ? {} : { headers: administrator },
      )
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(text)
      const time = performance.now() - start
      if (round < 0) continue
      times.push(time)
      work.push((used() - before) * 1_000)
    }
    console.log(
      `${name}, ${what}: ${median(times).toFixed(1)} ms, the fastest ${Math.min(...times).toFixed(1)} ms; ${median(work).toFixed(1)} ms of processor time`,
    )
  }
  await service.stop()
}

const folder = scratch()
addPerson(folder, true)
carrel(folder, ['group', 'add', 'Half'])
const db = new DatabaseSync(join(folder, 'carrel.db'))
db.exec(
  rows(
    '',
    last =>
      `(WITH RECURSIVE n(number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM n WHERE number < ${last}) SELECT number FROM n)`,
  ).replaceAll("0, '', 0,", "0, x'', 0,"),
)
db.close()
await measure('SQLite', folder)

const server = await startPostgres({ flags: ['shared_buffers=512MB'] })
process.env.CARREL_DATABASE_URL = server.url
const other = scratch()
addPerson(other, true)
carrel(other, ['group', 'add', 'Half'])
const client = new pg.Client({ connectionString: server.url })
await client.connect()
await client.query(rows('carrel.', last => `generate_series(1, ${last}) AS number`))
await client.query('VACUUM ANALYZE')
await client.end()
await measure('PostgreSQL', other, server.folder)
await server.remove()
