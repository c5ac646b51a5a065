import assert from 'node:assert/strict'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Relation } from '../../../src/model/entities.ts'
import type { Client } from '../../support/clients/client.ts'
import { list } from '../../support/clients/listings.ts'
import { backUp, emptyPlace, restore } from '../../support/data/backups.ts'
import { eventsOf } from '../../support/data/events.ts'
import { changeText, importText } from '../../support/data/imports.ts'
import { createDatabase } from '../../support/service/databases.ts'
import { engineIn, test, testOn } from '../../support/service/engines.ts'
import { anonymous, withTables } from '../../support/service/exposed-tables.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'

const artworks = '{"id":1,"artist_id":7,"title":"Ribbon","set":"a","number":1}'
const artists = '{"id":7,"name":"Ruth","born":1938}'

async function startWithArt(t: Parameters<typeof startService>[0]): Promise<Service> {
  const service = await startService(t)
  await importText(service, artworks, { entity: 'artworks', key: 'id', read: 'anonymous' })
  await importText(service, artists, { entity: 'artists', key: 'id', read: 'anonymous' })
  return service
}

async function run({ dataFolder }: Pick<Service, 'dataFolder'>, ...args: readonly string[]): Promise<string> {
  const done = await carrel(dataFolder, args)
  assert.equal(done.code, 0, done.stderr)
  assert.equal(done.stderr, '')
  return done.stdout
}

/** Returns the relations of entities in `GET {query_base}`, without entities that have none. */
async function shownTo(client: Client): Promise<Record<string, readonly Relation[]>> {
  const all = await list<{ name: string; relations?: readonly Relation[] }>(client, '')
  return Object.fromEntries(all.flatMap(({ name, relations }) => (relations ? [[name, relations]] : [])))
}

const builtIn = {
  items: [{ fields: ['uuid'], to: { entity: 'bitstreams', fields: ['item'] } }],
  bitstreams: [{ fields: ['item'], to: { entity: 'items', fields: ['uuid'] } }],
}
const byArtist = {
  artworks: [{ fields: ['artist_id'], to: { entity: 'artists', fields: ['id'] } }],
  artists: [{ fields: ['id'], to: { entity: 'artworks', fields: ['artist_id'] } }],
}

const relate = { relate: { fields: ['artist_id'], to: { entity: 'artists', fields: ['id'] } } }

const condition = '["=","set","a"]'

async function declareAll({ storage: { entities } }: Service): Promise<void> {
  assert.equal(await entities.describe('artworks', relate, commandEvent('entity.relate')), true)
  const changed = { defaultCondition: condition }
  assert.equal(await entities.describe('artworks', changed, commandEvent('entity.default')), true)
}

/** Asserts that all declarations are stored. */
async function assertDeclared({ storage }: Service): Promise<void> {
  const entity = (await storage.entities.all()).get('artworks')
  assert.deepEqual([entity?.relations, entity?.defaultCondition], [[relate.relate], condition])
}

test('Q21 D8 entities are related and unrelated by a command, at once, on every node, and it is audited', async t => {
  const service = await startWithArt(t)
  await service.addEperson('root@example.org', { admin: true })
  const other = await startService(t, { dataFolder: service.dataFolder })
  assert.deepEqual(await shownTo(other.client()), builtIn)

  assert.equal(
    await run(service, 'entity', 'relate', 'artworks.artist_id', 'artists.id'),
    'artworks and artists are now related: artworks.artist_id = artists.id.\n',
  )
  for (const node of [service, other])
    assert.deepEqual(await shownTo(node.client()), { ...builtIn, ...byArtist })
  // Declaring the relation from the other side changes nothing.
  const again = await run(service, 'entity', 'relate', 'artists.id', 'artworks.artist_id', '--json')
  assert.deepEqual(JSON.parse(again), {
    entity: 'artists',
    fields: ['id'],
    to: { entity: 'artworks', fields: ['artist_id'] },
    changed: false,
  })
  assert.match(await run(service, 'entity', 'list'), /^artworks +id +anonymous +5 +1 +artists$/m)

  assert.equal(
    await run(service, 'entity', 'unrelate', 'artists', 'artworks'),
    'artists and artworks are no longer related by their fields.\n',
  )
  for (const node of [service, other]) assert.deepEqual(await shownTo(node.client()), builtIn)
  const root = await service.loggedIn('root@example.org')
  for (const event of ['entity.relate', 'entity.unrelate'])
    assert.deepEqual(
      (await eventsOf(root, event)).map(({ outcome, actor, object }) => [outcome, actor, object]),
      [['success', null, 'artworks']],
    )
})

test('Q21 relations by several fields, and with a built-in entity, are kept by the other one', async t => {
  const service = await startWithArt(t)
  await service.addRecords('parts', 'id', [{ id: 1, of: 'a', n: 1, item: 'uuid' }])
  await run(service, 'entity', 'relate', 'parts.of, n', 'artworks.set,number')
  const said = await run(service, 'entity', 'relate', 'items.uuid', 'parts.item', '--json')
  assert.equal((JSON.parse(said) as { entity: string }).entity, 'parts')
  const shown = await shownTo(service.client())
  assert.deepEqual(shown.parts, [
    { fields: ['of', 'n'], to: { entity: 'artworks', fields: ['set', 'number'] } },
    { fields: ['item'], to: { entity: 'items', fields: ['uuid'] } },
  ])
  assert.deepEqual(shown.artworks, [
    { fields: ['set', 'number'], to: { entity: 'parts', fields: ['of', 'n'] } },
  ])
  assert.deepEqual(
    shown.items?.map(({ to }) => to.entity),
    ['bitstreams', 'parts'],
  )
})

test('Q12 Q21 everybody sees the relations between the entities that they may read, and no others', async t => {
  const service = await startWithArt(t)
  await service.addEperson('root@example.org', { admin: true })
  await service.addEperson('ruth@example.org')
  await declareAll(service)
  const { entities } = service.storage
  await entities.changeReadRule('artists', 'eperson', commandEvent('entity.access'))
  assert.deepEqual(await shownTo(service.client()), builtIn)
  const ruth = await service.loggedIn('ruth@example.org')
  assert.deepEqual(await shownTo(ruth), { ...builtIn, ...byArtist })
  const root = await service.loggedIn('root@example.org')
  assert.deepEqual(await shownTo(root), {
    ...builtIn,
    ...byArtist,
    epersons: [{ fields: ['uuid'], to: { entity: 'audit-events', fields: ['eperson'] } }],
    'audit-events': [{ fields: ['eperson'], to: { entity: 'epersons', fields: ['uuid'] } }],
  })
})

test('Q21 Q25 what is declared stays when an entity is imported again or changed, and goes when it is dropped', async t => {
  const service = await startWithArt(t)
  await declareAll(service)
  await importText(service, artworks, { entity: 'artworks', key: 'id' })
  await assertDeclared(service)
  await changeText(service, '{"id":2,"artist_id":7,"title":"Wall","set":"b","number":2}', {
    entity: 'artworks',
    kind: 'update',
  })
  await assertDeclared(service)
  await service.storage.entities.changeReadRule('artworks', 'eperson', commandEvent('entity.access'))
  await assertDeclared(service)

  // The other entity may be dropped and imported again.
  const { entities } = service.storage
  await entities.drop('artists', commandEvent('entity.drop'))
  assert.deepEqual(await shownTo(service.client()), builtIn)
  await importText(service, artists, { entity: 'artists', key: 'id', read: 'anonymous' })
  await assertDeclared(service)

  await entities.drop('artworks', commandEvent('entity.drop'))
  await importText(service, artworks, { entity: 'artworks', key: 'id' })
  const entity = (await entities.all()).get('artworks')
  assert.ok(entity && !('relations' in entity) && !('defaultCondition' in entity))
  assert.equal(await entities.describe('nothing', relate, commandEvent('entity.relate')), false)
})

test('Q21 Q25 D8 a backup restores what is declared', async t => {
  const service = await startWithArt(t)
  await declareAll(service)
  const folder = temporaryFolder(t, 'sqlite')
  await backUp(service.dataFolder, folder)
  for (const engine of ['sqlite', 'postgres'] as const) {
    const place = emptyPlace(t, engine)
    const done = await restore(place, folder)
    assert.equal(done.code, 0, done.stderr)
    await assertDeclared(await startService(t, { dataFolder: place }))
  }
})

testOn('sqlite', 'Q21 Q25 D3 carrel copy takes along what is declared', async t => {
  const service = await startWithArt(t)
  await declareAll(service)
  await service.stop()
  const url = await createDatabase(t)
  const to = new URL(url)
  const env = { PGPASSWORD: decodeURIComponent(to.password) }
  to.password = ''
  const done = await carrel(service.dataFolder, ['copy', '--to', to.href], { env })
  assert.equal(done.code, 0, done.stderr)
  await assertDeclared(await startService(t, { env: { CARREL_DATABASE_URL: url } }))
})

test('Q21 D8 what can be no relation is refused, with the names that there are', async t => {
  const service = await startWithArt(t)
  // A refused command never reaches the store, so one engine runs all cases and the other only some.
  const cases = [
    [
      ['relate', 'artworks.artist_i', 'artists.id'],
      1,
      /artworks has no field "artist_i"\. Did you mean "artist_id"\? Its fields are id, artist_id, title, set, number$/,
    ],
    [
      ['relate', 'artworks.artist_id', 'artist.id'],
      1,
      /there is no entity "artist"\. Did you mean "artists"\? There are /,
    ],
    [
      ['relate', 'artworks.title', 'artists.id'],
      1,
      /artworks\.title is text and artists\.id is integer; their values are never equal/,
    ],
    [['unrelate', 'artworks', 'artists'], 1, /artworks and artists are not related/],
    [['unrelate', 'items', 'bitstreams'], 1, /the relation between items and bitstreams is built in/],
    [
      ['relate', 'artworks.set,number', 'artists.name'],
      1,
      /2 of the fields of artworks can't be compared with 1 of artists/,
    ],
    [['relate', 'artworks.id,id', 'artists.id,id'], 2, /artworks\.id is named twice/],
    [
      ['relate', 'artworks', 'artists.id'],
      2,
      /"artworks" is not an entity and a field of it; write artworks\.artist_id/,
    ],
    [['relate', 'artworks.id', 'artworks.number'], 1, /artworks can't be related to itself/],
    [
      ['relate', 'items.uuid', 'bitstreams.item'],
      1,
      /items and bitstreams are built in, and so are their relations/,
    ],
    [['relate', 'artworks.id'], 2, /others/],
  ] as const
  for (const [args, code, message] of cases.slice(0, engineIn(t) === 'sqlite' ? cases.length : 3)) {
    const done = await carrel(service.dataFolder, ['entity', ...args])
    assert.match(done.stderr, /^carrel: [^\n]+\n$/, 'one line')
    assert.match(done.stderr.trimEnd(), message)
    assert.equal(done.code, code)
  }
  await declareAll(service)
  for (const pair of [
    ['artworks.id', 'artists.id'],
    ['artists.born', 'artworks.number'],
  ] as const) {
    const done = await carrel(service.dataFolder, ['entity', 'relate', ...pair])
    assert.equal(done.code, 1)
    assert.match(
      done.stderr,
      /are related already: (artworks\.artist_id = artists\.id|artists\.id = artworks\.artist_id); there is one relation between two entities, and `carrel entity unrelate \w+ \w+` takes it back\n$/,
    )
  }
  await assertDeclared(service)
})

test('Q21 entities that share a field certname are related, until something else is declared', async t => {
  const service = await startService(t)
  for (const name of ['nodes', 'facts'])
    await service.addRecords(name, 'id', [{ id: 1, certname: 'a', name: 'b' }])
  const by = (field: string) => [{ fields: [field], to: { entity: 'facts', fields: [field] } }]
  assert.deepEqual((await shownTo(service.client())).nodes, by('certname'))
  const refused = await carrel(service.dataFolder, ['entity', 'unrelate', 'nodes', 'facts'])
  assert.match(refused.stderr, /is there because both have these fields; there is nothing to take back\n$/)
  await run(service, 'entity', 'relate', 'nodes.name', 'facts.name')
  assert.deepEqual((await shownTo(service.client())).nodes, by('name'))
  await run(service, 'entity', 'unrelate', 'nodes', 'facts')
  assert.deepEqual((await shownTo(service.client())).nodes, by('certname'))
})

test('Q25 D8 a default condition is declared and taken back by a command, and audited', async t => {
  const service = await startWithArt(t)
  await service.addEperson('root@example.org', { admin: true })
  assert.equal(
    await run(service, 'entity', 'default', 'artworks', ' ["=", "number", 1.50] '),
    'Queries of artworks get the condition ["=","number",1.50], unless they mention one of its fields.\n',
  )
  const conditionOf = async () =>
    (
      JSON.parse(await run(service, 'entity', 'list', '--json')) as {
        name: string
        defaultCondition: unknown
      }[]
    ).find(({ name }) => name === 'artworks')?.defaultCondition
  assert.equal(await conditionOf(), '["=","number",1.50]')
  assert.match(await run(service, 'entity', 'list'), /^artworks .* \["=","number",1\.50\]$/m)

  const done = await run(service, 'entity', 'default', 'artworks', '--none', '--json')
  assert.deepEqual(JSON.parse(done), { name: 'artworks', defaultCondition: null })
  assert.equal(await conditionOf(), null)
  const root = await service.loggedIn('root@example.org')
  assert.deepEqual(
    (await eventsOf(root, 'entity.default')).map(({ object }) => object),
    ['artworks', 'artworks'],
  )
})

test('Q25 D8 a default condition in PQL is stored as the AST that means the same, digits included', async t => {
  const service = await startWithArt(t)
  for (const [pql, ast] of [
    ['number = 1.50', ['["=","number",1.50]']],
    [
      '\n  ! (number in [1, 2.0]) and number < 9007199254740993',
      ['["and",["not",["in","number",["array",[1,2.0]]]],["<","number",9007199254740993]]'],
    ],
  ] as const) {
    const done = JSON.parse(await run(service, 'entity', 'default', 'artworks', pql, '--json'))
    assert.deepEqual(done, { name: 'artworks', defaultCondition: ast[0] })
    const entity = (await service.storage.entities.all()).get('artworks')
    assert.equal(entity?.defaultCondition, ast[0])
  }
})

testOn('sqlite', 'Q25 D8 what can be no default condition is refused', async t => {
  const service = await startWithArt(t)
  for (const [args, code, message] of [
    [
      ['artworks', '["=","set"'],
      1,
      /the condition can't be that of artworks\. It is not JSON: a closing bracket \] is expected at character 10\.$/,
    ],
    [['artworks', '"set"'], 1, /the condition can't be that of artworks\./],
    [['artworks', '[]'], 1, /the condition can't be that of artworks\./],
    [['artworks', '["=","sett","a"]'], 1, /has no field "sett"/],
    [['artworks', '["subquery","artists",["=","id",1]]'], 1, /artists/],
    [['artworks', '["in","id",["from","artworks",["extract","id"]]]'], 1, /can't have subqueries/],
    [['artworks', '["extract",["id"]]'], 1, /extract/],
    [['artworks', ''], 1, /Line 1, column 1: found the end, expected /],
    [['artworks', 'sett = "a"'], 1, /has no field "sett"/],
    [['artworks', 'number = 1 limit 3'], 1, /column 12: found "limit", expected /],
    [['artworks', 'order by number'], 1, /column 10: found "number", expected /],
    [['artworks', 'artworks { number = 1 }'], 1, /artworks has no relation to artworks/],
    [['artworks', 'id in artworks[id] {}'], 1, /can't have subqueries/],
    [['artworks', '('.repeat(3_000)], 1, /nested/],
    [['artworks'], 2, /give a condition, or --none$/],
    [['artworks', condition, '--none'], 2, /give a condition, or --none$/],
    [['items', condition], 1, /items is built in/],
    [
      ['nothing', condition],
      1,
      /there is no imported or exposed entity nothing; `carrel entity list` shows all entities$/,
    ],
  ] as const) {
    const done = await carrel(service.dataFolder, ['entity', 'default', ...args])
    assert.match(done.stderr, /^carrel: [^\n]+\n$/, 'one line')
    assert.match(done.stderr.trimEnd(), message)
    assert.equal(done.code, code)
  }
})

const tables = `
  CREATE TABLE artists (id integer PRIMARY KEY, name text, mother integer REFERENCES artists);
  CREATE TABLE museums (id integer PRIMARY KEY);
  CREATE TABLE sets (code text, "number, n" integer, PRIMARY KEY (code, "number, n"));
  CREATE TABLE artworks (id integer PRIMARY KEY, artist integer REFERENCES artists, lender integer REFERENCES museums,
    owner integer REFERENCES museums, set_n integer, set_code text, hidden integer REFERENCES artists,
    FOREIGN KEY (set_code, set_n) REFERENCES sets (code, "number, n"))`

testOn(
  'postgres',
  'Q21 carrel expose proposes relations from foreign keys, and takes them with --relate',
  async t => {
    const { command, client, service } = await withTables(t, tables)
    const expose = async (...args: readonly string[]) => {
      const done = await command(...args, ...anonymous)
      assert.equal(done.code, 0, done.stderr)
      return done.stdout
    }
    const suggestedBy = (text: string) => text.split('\n').filter(line => line.includes('foreign key'))
    assert.deepEqual(suggestedBy(await expose('artists', '--entity', 'artists')), [], 'to itself')
    await expose('museums', '--entity', 'museums')
    await expose('sets', '--entity', 'sets')
    const artworksTable = ['artworks', '--entity', 'artworks'] as const
    const all = 'id,artist,lender,owner,set_n,set_code'
    assert.deepEqual(suggestedBy(await expose(...artworksTable, '--fields', all)), [
      'A foreign key suggests a relation: carrel entity relate artworks.artist artists.id',
      'A foreign key suggests a relation: carrel entity relate artworks.lender museums.id',
      'A foreign key suggests a relation: carrel entity relate artworks.owner museums.id',
      'A foreign key suggests a relation, which --relate declares: artworks.set_code = sets.code, artworks.set_n = sets.number, n',
    ])
    assert.deepEqual(await shownTo(client), builtIn)

    // Two foreign keys between the same tables leave a choice.
    const said = await expose(...artworksTable, '--fields', all, '--relate')
    assert.deepEqual(suggestedBy(said), [
      'Related by a foreign key: artworks.artist = artists.id.',
      'Related by a foreign key: artworks.set_code = sets.code, artworks.set_n = sets.number, n.',
      'A foreign key suggests a relation: carrel entity relate artworks.lender museums.id',
      'A foreign key suggests a relation: carrel entity relate artworks.owner museums.id',
    ])
    assert.deepEqual(
      (await shownTo(client)).artworks?.map(({ to }) => to.entity),
      ['artists', 'sets'],
    )

    // If the table is exposed again, its relations stay and are no longer suggested. Columns that aren't
    // shown suggest nothing.
    const again = await expose(...artworksTable, '--fields', 'id,artist,hidden', '--json')
    const { suggested, related, relations } = JSON.parse(again) as Record<string, unknown[]>
    assert.deepEqual([suggested, related, relations?.length], [[], [], 2])
    assert.deepEqual(await service.storage.entities.foreignKeys?.('museums'), [])
    assert.deepEqual(await service.storage.entities.foreignKeys?.('nothing'), [])
    // The relation is suggested for the other table, too.
    await expose(...artworksTable, '--fields', 'id,owner')
    assert.deepEqual(suggestedBy(await expose('museums', '--entity', 'museums', '--relate')), [
      'Related by a foreign key: artworks.owner = museums.id.',
    ])
  },
)
