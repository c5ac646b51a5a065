import assert from 'node:assert/strict'
import { readableTables } from '../../../src/storage/postgres/tables.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { list } from '../../support/clients/listings.ts'
import { eventsOf } from '../../support/data/events.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { runSql } from '../../support/service/databases.ts'
import { testOn, testWithoutStore } from '../../support/service/engines.ts'
import { withTables } from '../../support/service/exposed-tables.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const tables = `
  CREATE TABLE artists (id integer PRIMARY KEY, name text, secret text);
  CREATE TABLE artworks (id integer PRIMARY KEY, artist integer REFERENCES artists, title text, at timestamptz);
  CREATE VIEW titles AS SELECT id, title FROM artworks;
  INSERT INTO artists VALUES (1, 'Ruth', 'x');
  INSERT INTO artworks VALUES (7, 1, 'Blue', now()), (8, 1, 'Blue', now())`

testWithoutStore(
  'EA2 a table is shown as an entity, with all that belongs to it, in one step and one event',
  async t => {
    const { service, client } = await withTables(t, tables)
    const root = await administrator(service)
    const artists = await root.send('PUT', '/artists', {
      table: { name: 'artists' },
      fields: ['id', 'name'],
      read: 'anonymous',
    })
    assert.equal(artists.status, 201, JSON.stringify(artists.body))
    assert.deepEqual(artists.body.table, { schema: 'public', name: 'artists' })
    assert.deepEqual([artists.body.source, artists.body.key, artists.body.records], ['exposed', 'id', null])
    assert.deepEqual(await list(client, 'artists'), [{ id: 1, name: 'Ruth' }])

    const artworks = await root.send('PUT', '/artworks', {
      table: { schema: 'public', name: 'artworks' },
      read: 'anonymous',
      defaultCondition: ['=', 'title', 'Blue'],
      description: 'Works',
    })
    assert.equal(artworks.status, 201, JSON.stringify(artworks.body))
    const [suggested] = artworks.body.suggested
    assert.deepEqual(suggested, {
      entity: 'artworks',
      fields: ['artist'],
      to: { entity: 'artists', fields: ['id'] },
    })
    const { fields, to } = suggested
    const related = await root.send('PATCH', '/artworks', { relations: [{ fields, to }] })
    assert.equal(related.status, 200, JSON.stringify(related.body))
    assert.deepEqual([related.body.suggested, related.body.relations.length], [[], 1])
    assert.equal((await eventsOf(root.client, 'entity.expose')).length, 2)

    // Sent back as it was, the description stays the same. Another table may take its place.
    const same = await root.send('PUT', '/artworks', related.body, {
      'if-match': related.headers.get('etag') ?? '',
    })
    assert.equal(same.status, 200, JSON.stringify(same.body))
    assert.deepEqual(same.body, related.body)
    const other = await root.send('PUT', '/artworks', { table: { name: 'titles' }, key: 'id' })
    assert.equal(other.status, 200, JSON.stringify(other.body))
    assert.deepEqual([other.body.read, other.body.description, other.body.relations], ['admin', null, []])
    assert.equal((await root.send('DELETE', '/artworks')).status, 204)
    assert.equal((await root.send('GET', '/artworks')).status, 404)
  },
)

testWithoutStore(
  'EA2 EA3 EA5 what a table can’t be is refused, and nothing becomes an entity or stops being one',
  async t => {
    const { service } = await withTables(t, tables)
    const root = await administrator(service)
    await service.addRecords('letters', 'id', [{ id: 1 }])
    await root.send('PUT', '/artists', { table: { name: 'artists' } })
    const table = { name: 'artworks' }
    const wrong: readonly (readonly [name: string, body: object, status: number, member?: string])[] = [
      ['works', { table: { name: 'artwork' } }, 422, '/table'],
      ['works', { table: { schema: 'carrel', name: 'eperson' } }, 422, '/table'],
      ['works', { table: { schema: 'pg_catalog', name: 'pg_authid' } }, 422, '/table'],
      ['works', { table: { name: 'titles' } }, 422, '/table'],
      ['works', { table: { name: 'artworks"; DROP TABLE artists; --' } }, 422, '/table'],
      ['works', { table, fields: ['id', 'nope'] }, 422, '/table'],
      ['works', { table, key: ['title'] }, 422, '/table'],
      [
        'works',
        { table, fields: [{ name: 'id' }, { name: 'title', collation: 'sv' }] },
        422,
        '/fields/1/collation',
      ],
      ['works', { table, defaultCondition: ['=', 'secret', 1] }, 422, '/defaultCondition/1'],
      [
        'works',
        { table, relations: [{ fields: ['title'], to: { entity: 'artists', fields: ['id'] } }] },
        422,
        '/relations/0/fields/0',
      ],
      ['artists', { key: 'id', fields: ['id'] }, 422, '/table'],
      ['letters', { table }, 409],
    ]
    for (const [name, body, status, member] of wrong) {
      const answer = await root.send('PUT', `/${name}`, body)
      const said = JSON.stringify([body, answer.body])
      assert.equal(answer.status, status, said)
      assert.equal(answer.body.member, member, said)
      assert.doesNotMatch(answer.body.detail, / --[a-z]|this command/, said)
    }
    assert.equal((await root.send('GET', '/works')).status, 404)
    const collated = await root.send('PATCH', '/artists', { collations: { name: 'sv' } })
    assert.deepEqual([collated.status, collated.body.member], [422, '/collations'])
    for (const mode of ['replace', 'update'])
      assert.equal((await root.post(`/artists/import?key=id&mode=${mode}`, '[]')).status, 409)
    assert.equal((await root.send('GET', '/artists')).body.source, 'exposed')
    assert.equal((await root.send('GET', '/letters')).body.records, 1)
  },
)

testOn('sqlite', 'EA2 the embedded store has no tables to show, and says so', async t => {
  const root = await administrator(await startService(t))
  const answer = await root.send('PUT', '/works', { table: { name: 'artworks' } })
  assert.deepEqual([answer.status, answer.body.member], [422, '/table'])
  assert.match(answer.body.detail, /embedded store/)
})

testWithoutStore(
  'EA9 tables and views that can be shown are listed with columns, key and entities, and no others are',
  async t => {
    const { service } = await withTables(
      t,
      `${tables};
      CREATE SCHEMA "Old stock";
      CREATE TABLE "Old stock"."a.b ""c""" (tag point, id uuid, PRIMARY KEY (id));
      CREATE TABLE secrets (id integer PRIMARY KEY);
      CREATE TABLE parted (id integer, day date, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
      CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
      CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM artworks;
      CREATE SEQUENCE numbers; CREATE TYPE pair AS (a integer, b integer); CREATE INDEX ON artworks (title)`,
    )
    const root = await administrator(service)
    const tablesAt = async (query = '') => {
      const answer = await root.client.get(`/api/admin/tables${query}`)
      assert.equal(answer.status, 200, await answer.clone().text())
      const { _embedded, page } = (await answer.json()) as {
        _embedded: { tables: (Record<string, unknown> & { name: string; schema: string })[] }
        page: { totalElements: number }
      }
      return { rows: _embedded.tables, total: page.totalElements }
    }
    const { rows, total } = await tablesAt()
    const named = rows.map(({ schema, name, kind }) => `${schema}.${name}: ${kind}`)
    assert.deepEqual(named, [
      'Old stock.a.b "c": table',
      'public.artists: table',
      'public.artworks: table',
      'public.counted: materialized view',
      'public.parted: table',
      'public.secrets: table',
      'public.titles: view',
    ])
    assert.equal(total, 7)
    assert.deepEqual(rows[0], {
      ...{ schema: 'Old stock', name: 'a.b "c"', kind: 'table', key: ['id'], entities: [] },
      fields: [
        { name: 'tag', type: 'text', nullable: true, sortable: false },
        { name: 'id', type: 'text', nullable: false },
      ],
    })
    assert.deepEqual(rows[4]?.key, ['day', 'id'])
    assert.deepEqual(rows[6]?.key, [])

    // A listed table can be exposed as it is, and then lists its entities.
    const { schema, name } = rows[0] ?? assert.fail()
    for (const entity of ['stock', 'again'])
      assert.equal((await root.send('PUT', `/${entity}`, { table: { schema, name } })).status, 201)
    assert.deepEqual((await tablesAt('?query=OLD%20stock.a')).rows[0]?.entities, ['again', 'stock'])
    assert.deepEqual(
      (await tablesAt('?query=art&page=1&size=1')).rows.map(one => one.name),
      ['artworks'],
    )
    assert.deepEqual(await tablesAt('?page=9'), { rows: [], total: 7 })
    for (const text of ['%', "';--", '_', '\0'])
      for (const one of (await tablesAt(`?query=${encodeURIComponent(text)}`)).rows)
        assert.ok(one.name.includes(text), text)
    await assertProblem(await root.client.get('/api/admin/tables?search=art'), 400, 'bad-parameter')
  },
)

testWithoutStore('EA9 what Carrel’s database user may not read is not in the list', async t => {
  const { url } = await withTables(t, tables)
  const stranger = `stranger_${new URL(url).pathname.slice(1)}`
  await runSql(url, `CREATE ROLE ${stranger} NOLOGIN`)
  atEnd(t, () => runSql(url, `DROP OWNED BY ${stranger}; DROP ROLE ${stranger}`))
  await runSql(
    url,
    `GRANT USAGE ON SCHEMA public TO ${stranger}; GRANT SELECT (id) ON artworks TO ${stranger}`,
  )
  const found = await runSql<{ name: string }>(
    url,
    `BEGIN; SET LOCAL ROLE ${stranger}; SELECT c.relname AS name ${readableTables}`,
  )
  assert.deepEqual(
    found.map(({ name }) => name),
    ['artworks'],
  )
})

testOn('sqlite', 'EA9 the embedded store has no tables to show', async t => {
  const root = await administrator(await startService(t))
  const answer = await root.client.get('/api/admin/tables')
  assert.equal(((await answer.json()) as { page: { totalElements: number } }).page.totalElements, 0)
})

testWithoutStore(
  'EA2 Q18 tables are looked through one at a time, and no longer than a statement may take',
  async t => {
    const endless = 'CREATE VIEW endless AS SELECT n AS id FROM generate_series(1, 1000000000000) n'
    const { service, url } = await withTables(t, `${endless}; ${tables}`, { CARREL_STATEMENT_TIMEOUT: '1' })
    const root = await administrator(service)
    const wanted = { table: { name: 'endless' }, key: ['id'], fields: ['id'] }
    let isOver = false
    const answers = Promise.all(
      ['one', 'two', 'three'].map(name => root.send('PUT', `/${name}`, wanted)),
    ).finally(() => {
      isOver = true
    })
    const counts = new Set<number>()
    while (!isOver) counts.add(await statementsIn(url))
    assert.equal(Math.max(...counts), 1)
    for (const { status, body } of await answers) {
      assert.deepEqual([status, body.code, body.member], [422, 'entity-refused', '/table'])
      assert.match(
        body.detail,
        /takes too long to look through public\.endless for duplicate keys; use key to/,
      )
    }
    // It takes a second at most, unless the machine is too slow.
    await until(
      'a table that is looked through in time',
      () => root.send('PUT', '/artists', { table: { name: 'artists' } }),
      ({ status }) => status === 201,
    )
  },
)

/** Counts the statements that scan a table for duplicate keys. */
async function statementsIn(url: string): Promise<number> {
  const [row] = await runSql<{ count: string }>(
    url,
    `SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
     AND query LIKE '%GROUP BY %HAVING%' AND pid <> pg_backend_pid()`,
  )
  return Number(row?.count)
}
