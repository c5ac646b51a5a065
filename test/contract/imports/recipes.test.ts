import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { administrator } from '../../support/clients/administrator.ts'
import { list } from '../../support/clients/listings.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { startService } from '../../support/service/service.ts'

const csv = { 'content-type': 'text/csv' }
const ndjson = { 'content-type': 'application/x-ndjson' }

const recipe = {
  empty: ['n/a'],
  key: ['id'],
  fields: {
    Nr: { rename: 'id', read: 'integer' },
    Preis: { rename: 'price', read: 'decimal-comma', empty: ['–'] },
    Datum: { read: 'day-first' },
    Themen: { read: 'list', separator: ';' },
    Notiz: { leaveOut: true },
  },
}
const table = [
  'Nr;Preis;Datum;Themen;Notiz',
  '1;1.234,50;31.12.2024;"a; b;; c";x',
  '2;n/a;n/a;a;y',
  '3;–;2024-01-02;;z',
  '',
].join('\r\n')
const lines = [
  { Nr: 1, Preis: '1.234,50', Datum: '31.12.2024', Themen: 'a; b;; c', Notiz: 'x' },
  { Nr: 2, Preis: 'n/a', Datum: 'n/a', Themen: 'a' },
  { Nr: 3, Preis: '–', Datum: '2024-01-02', Themen: null, Notiz: {} },
]
const wanted = [
  { id: 1, price: 1234.5, Datum: '2024-12-31', Themen: ['a', 'b', 'c'] },
  { id: 2, price: null, Datum: null, Themen: ['a'] },
  { id: 3, price: null, Datum: '2024-01-02', Themen: null },
]
const asked = (one: unknown) => `recipe=${encodeURIComponent(JSON.stringify(one))}`

test('D16 EA5 a recipe reads tables and JSON alike: renames, leaves out, converts, splits and empties', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const rows = lines.map(line => JSON.stringify(line)).join('\n')
  for (const [body, headers] of [
    [table, csv],
    [rows, ndjson],
    [JSON.stringify(lines), { 'content-type': 'application/json' }],
  ] as const) {
    const process = await root.imports(`/works/import?read=anonymous&${asked(recipe)}`, body, headers)
    assert.equal(process.state, 'completed', process.fault ?? '')
    assert.deepEqual(await list(service.client(), 'works'), wanted)
    const { fields, key } = (await service.storage.entities.all()).get('works') ?? {}
    assert.deepEqual(key, 'id')
    assert.deepEqual(
      fields?.map(({ name, type, list }) => [name, type, list]),
      [
        ['id', 'integer', undefined],
        ['price', 'number', undefined],
        ['Datum', 'text', undefined],
        ['Themen', 'json', true],
      ],
    )
    // An update and a deletion are read in the same way.
    const update = 'Nr;Preis;Datum;Themen\n2;7,5;1.2.2025;b\n4;n/a;n/a;"c;d"\n'
    assert.equal((await root.imports('/works/import?mode=update', update, csv)).state, 'completed')
    assert.deepEqual((await list(service.client(), 'works')).slice(1), [
      { id: 2, price: 7.5, Datum: '2025-02-01', Themen: ['b'] },
      wanted[2],
      { id: 4, price: null, Datum: null, Themen: ['c', 'd'] },
    ])
    assert.equal((await root.imports('/works/import?mode=delete', '{"Nr":4}', ndjson)).state, 'completed')
    assert.equal((await root.send('DELETE', '/works')).status, 204)
  }
})

test('D16 a recipe is kept with the entity, used again unless options say otherwise, shown, replaced and removed', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const kept = async () => (await root.send('GET', '/works')).body.recipe
  const first = await root.imports(`/works/import?read=anonymous&${asked(recipe)}`, table, csv)
  assert.equal(first.state, 'completed', first.fault ?? '')
  assert.deepEqual(await kept(), recipe)
  const again = await root.imports('/works/import', table, csv)
  assert.equal(again.state, 'completed', again.fault ?? '')
  assert.deepEqual(await list(service.client(), 'works'), wanted)
  assert.deepEqual([again.result?.unchanged, again.result?.replaced], [3, 0])

  // A file may lack fields that the recipe names: what goes is told, and refused, as ever.
  const less = 'Nr;Preis\n1;1.234,50\n2;n/a\n3;–\n'
  assert.match((await root.imports('/works/import', less, csv)).fault ?? '', /lose 2 of its 4 fields/)
  const wrong = await root.imports('/works/import?type=Year=integer&key=Nr', table, csv)
  assert.match(wrong.fault ?? '', /no record has the field "Year"/)

  // Options of its own leave the recipe aside, and in place.
  const plain = await root.imports('/works/import?type=Nr=text&key=Nr&replace=true', table, csv)
  assert.equal(plain.state, 'completed', plain.fault ?? '')
  const [one] = await list(service.client(), 'works')
  assert.deepEqual(one, { Nr: '1', Preis: '1.234,50', Datum: '31.12.2024', Themen: 'a; b;; c', Notiz: 'x' })
  assert.deepEqual(await kept(), recipe)

  // Declared and removed without an import; a restore and an import of nothing keep it.
  const tag = (await root.send('GET', '/works')).headers.get('etag')
  const changed = await root.send(
    'PATCH',
    '/works',
    { recipe: { dayFirst: true } },
    { 'if-match': tag ?? '' },
  )
  assert.deepEqual([changed.status, changed.body.recipe], [200, { dayFirst: true }])
  assert.notEqual(changed.headers.get('etag'), tag)
  const stale = await root.send('PATCH', '/works', { recipe: null }, { 'if-match': tag ?? '' })
  assert.equal(stale.status, 412)
  assert.equal((await root.send('PATCH', '/works', { recipe: null })).body.recipe, undefined)
  const blank = await root.imports(`/works/import?key=Nr&replace=true&${asked(recipe)}`, table, csv)
  assert.match(blank.fault ?? '', /no record has the key field "Nr"/)
  await root.imports(`/works/import?replace=true&${asked(recipe)}`, table, csv)
  assert.deepEqual(await kept(), recipe)
  await root.imports(`/works/import?key=Nr&replace=true&${asked({})}`, table, csv)
  assert.equal(await kept(), undefined)
})

test('D16 EA6 the command keeps, prints, takes and removes a recipe, and --dry-run says what would change', async t => {
  const service = await startService(t)
  const [file, of] = [join(service.dataFolder, 'works.csv'), join(service.dataFolder, 'recipe.json')]
  writeFileSync(file, table)
  writeFileSync(of, JSON.stringify(recipe))
  const run = async (...words: string[]) => carrel(service.dataFolder, words)
  const told = await run('import', file, '--entity', 'works', '--key', 'Nr', '--dry-run')
  assert.match(
    told.stdout,
    /^Datum is text; dates with the day first: 1; other texts: 1 \(first on line 3: n\/a\); /m,
  )
  assert.match(told.stdout, /Nothing was imported\.$/m)
  assert.equal((await service.storage.entities.all()).has('works'), false)
  assert.equal((await run('import', file, '--entity', 'works', '--recipe', of)).code, 0)
  assert.deepEqual(JSON.parse((await run('entity', 'recipe', 'works')).stdout), recipe)
  assert.match((await run('entity', 'show', 'works')).stdout, /^Imported by the recipe: \{"empty"/m)

  writeFileSync(file, 'Nr;Preis;Datum;Themen\n1;1.234,50;31.12.2024;"a;b;c"\n2;5;n/a;a\n9;1;n/a;\n')
  const dry = await run('import', file, '--entity', 'works', '--dry-run')
  const said = 'Records: 1 added (9); 1 changed (2); 1 deleted (3); 1 as before.\n  2: price null → 5\n'
  assert.ok(dry.stdout.includes(said), dry.stdout)
  const real = await run('import', file, '--entity', 'works', '--replace')
  assert.ok(real.stdout.includes(said), real.stdout)
  await (await administrator(service)).send('PATCH', '/works', { recipe: null })
  assert.match((await run('entity', 'recipe', 'works')).stderr, /works has no recipe/)
  assert.match((await run('import', file, '--entity', 'works')).stderr, /--key is missing/)
  assert.equal((await run('import', file, '--entity', 'works', '--recipe', of)).code, 0)

  writeFileSync(of, '{"fields":{"Nr":{"read":"lists"}}}')
  const bad = await run('import', file, '--entity', 'works', '--recipe', of)
  assert.match(bad.stderr, /is not a recipe\. \/fields\/Nr\/read takes text, integer,.*not "lists"/)
})

test('D16 EA5 a recipe that is wrong is refused by its member, before anything is read', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  for (const [text, says] of [
    ['', /is not valid JSON/],
    ['[]', /must be an object/],
    ['{"columns":{}}', /has no member "columns"/],
    ['{"fields":[]}', /\/fields takes an object/],
    ['{"fields":{"a":null}}', /\/fields\/a must be an object/],
    ['{"fields":{"a/b":{"read":"list"}}}', /\/fields\/a~1b lacks `separator`/],
    ['{"fields":{"a":{"separator":";"}}}', /\/fields\/a\/separator is for lists/],
    ['{"fields":{"a":{"read":"list","separator":""}}}', /takes 1 to 10 characters/],
    ['{"fields":{"a":{"read":"integer","collation":"sv"}}}', /\/fields\/a\/collation is for text/],
    ['{"fields":{"a":{"collation":"xx-no"}}}', /There is no collation for/],
    ['{"fields":{"a":{"rename":"c"},"b":{"rename":"c"}}}', /\/fields\/b\/rename is "c" a second time/],
    ['{"fields":{"a":{"rename":""}}}', /takes the name of a field/],
    ['{"fields":{"a":{"empty":"x"}}}', /takes a list of at most 100 texts/],
    ['{"fields":{"a":{"leaveOut":1}}}', /takes true or false/],
    ['{"key":[]}', /\/key takes the name of a field/],
    ['{"key":["a","a"]}', /\/key\/1 is "a" a second time/],
    ['{"delimiter":"x"}', /\/delimiter takes comma, semicolon, tab, pipe/],
    ['{"encoding":"morse"}', /"morse" is not an encoding/],
    [`{"empty":${deep}}`, /\/empty\/0 takes a text/],
    [`{"empty":["\\ud800"]}`, /\/empty\/0 takes a text/],
  ] as const) {
    const answer = await root.post(`/works/import?key=a&recipe=${encodeURIComponent(text)}`, 'a\n1\n', csv)
    assert.equal(answer.status, 400, text)
    assert.match(answer.body.detail, says, text)
  }
  assert.equal((await root.imports('/works/import?key=a', 'a\n1\n', csv)).state, 'completed')
  const wrong = await root.send('PATCH', '/works', { recipe: { fields: { a: { read: 'list' } } } })
  assert.deepEqual([wrong.status, wrong.body.member], [422, '/recipe/fields/a'])
})

test('D16 what a recipe says and a file contradicts is refused by its line, and odd names stay names', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const faultOf = async (one: unknown, body: string, headers = csv) =>
    (await root.imports(`/works/import?key=id&${asked(one)}`, body, headers)).fault
  assert.match(
    (await faultOf({ fields: { d: { read: 'day-first' } } }, 'id,d\n1,31.12.2024\n2,soon\n')) ?? '',
    /^line 3: the field "d" is read as dates with the day first and has the value "soon"/,
  )
  assert.match(
    (await faultOf({ fields: { p: { read: 'decimal-comma' } } }, 'id;p\n1;x\n')) ?? '',
    /^line 2: the field "p" is declared as number and has the value "x"/,
  )
  assert.match(
    (await faultOf({ fields: { a: { rename: 'b' } } }, 'id,a,b\n1,2,3\n')) ?? '',
    /the recipe gives the columns "a" and "b" one name, "b"/,
  )
  assert.match(
    (await faultOf({ fields: { a: { rename: 'b' } } }, '{"id":1,"a":2,"b":3}', ndjson)) ?? '',
    /^line 1: two fields are called "b" by the recipe/,
  )
  const odd = { fields: { ['__proto__']: { rename: 'proto' }, a: { rename: '__proto__' } } }
  for (const [body, headers] of [
    ['id,a,__proto__\n1,x,y\n', csv],
    ['{"id":1,"a":"x","__proto__":"y"}', ndjson],
  ] as const) {
    const done = await root.imports(`/works/import?key=id&read=anonymous&${asked(odd)}`, body, headers)
    assert.equal(done.state, 'completed', done.fault ?? '')
    const answer = await service.client().get('/api/query/v4/works')
    assert.equal(await answer.text(), '[{"id":1,"__proto__":"x","proto":"y"}]')
    await root.send('DELETE', '/works')
  }
})
