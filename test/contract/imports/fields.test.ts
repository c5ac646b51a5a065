import assert from 'node:assert/strict'
import { ImportError } from '../../../src/import/import-error.ts'
import type { Entity, FieldType } from '../../../src/model/entities.ts'
import { bodyOf, list, listPath, queryPath } from '../../support/clients/listings.ts'
import { importText, leftoversIn, ndjson } from '../../support/data/imports.ts'
import { engineIn, test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'

async function described(service: Service, name: string): Promise<Entity | undefined> {
  const all = JSON.parse(await bodyOf(service, queryPath)) as Entity[]
  return all.find(entity => entity.name === name)
}

const typesOf = (types: Readonly<Record<string, FieldType>>) => new Map(Object.entries(types))
const collationsOf = (collations: Readonly<Record<string, string>>) => new Map(Object.entries(collations))

/** Asserts that the import is refused in one line, and leaves nothing behind. */
async function refuses(
  service: Service,
  content: string,
  options: Omit<Parameters<typeof importText>[2], 'entity'>,
  message: RegExp,
): Promise<void> {
  const error = await importText(service, content, { entity: 'refused', ...options }).then(
    () => assert.fail(`imported: ${content}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ImportError, String(error))
  assert.match(error.message, message)
  assert.ok(!error.message.includes('\n'), 'the message is one line')
  assert.equal((await service.storage.entities.all()).has('refused'), false)
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
}

const facts = [
  { host: 'b', fact: 'os', value: 1 },
  { host: 'a', fact: 'uptime', value: 2 },
  { host: 'b', fact: 'cpu', value: 2 },
  { host: 'a', fact: 'os', value: 1 },
]

test('D2 Q6 Q12 a key of several fields is the order, breaks every tie, and is described', async t => {
  const service = await startService(t)
  const key = ['host', 'fact']
  const report = await importText(service, ndjson(facts), { entity: 'facts', key })
  assert.deepEqual(report.key, key)
  assert.deepEqual((await described(service, 'facts'))?.key, key)
  const read = async (...order: string[]) => {
    const order_by = order.map(word => ({
      field: word.replace('-', ''),
      order: word.startsWith('-') ? 'desc' : 'asc',
    }))
    const records = await list<(typeof facts)[number]>(service.client(), 'facts', { order_by })
    return records.map(({ host, fact }) => `${host}.${fact}`).join(' ')
  }
  const byKey = 'a.os a.uptime b.cpu b.os'
  assert.equal(await read(), byKey)
  assert.equal(await read('host'), byKey)
  assert.equal(await read('host', 'fact', 'value'), byKey)
  assert.equal(await read('fact'), 'b.cpu a.os b.os a.uptime')
  assert.equal(await read('fact', 'host', 'value'), 'b.cpu a.os b.os a.uptime')
  assert.equal(await read('value'), 'a.os b.os a.uptime b.cpu')
  assert.equal(await read('-host'), 'b.cpu b.os a.os a.uptime')
  assert.equal(await read('host', '-fact'), 'a.uptime a.os b.os b.cpu')
  assert.equal(await read('-host', 'value', 'fact'), 'b.os b.cpu a.os a.uptime')
})

test('D2 a key of several fields is unique and never null in any of them', async t => {
  const service = await startService(t)
  const key = ['host', 'fact']
  for (const [text, message] of [
    [
      '{"host":"a","fact":"x"}\n{"host":"a","fact":null}',
      /^line 2: the key field "fact" is missing or null; /,
    ],
    ['{"host":"a","fact":"x"}\n{"fact":"x"}', /^line 2: the key field "host" is missing or null; /],
    [
      '{"host":"a","fact":"x"}\n{"host":"b","fact":"x"}\n{"host":"a","fact":"x"}',
      /^line 3: the key \("host", "fact"\) has the values "a", "x" again, as on line 1; /,
    ],
    ['{"host":"a","fact":"x"}\n{"host":"b","fact":1}', /"fact" can't be the key: its type is json/],
    ['{"host":"a"}', /no record has the key field "fact"; there are host/],
  ] as const)
    await refuses(service, text, { key }, message)
})

test('D2 a key that is there twice is shown by its own value, with several records on one line', async t => {
  const service = await startService(t)
  await refuses(
    service,
    '[{"id":1},{"id":2},{"id":3},\n{"id":4},{"id":2},{"id":5}]',
    { key: 'id', file: 'twice.json' },
    /^line 2: the key "id" has the value 2 again, as on line 1; /,
  )
  await refuses(
    service,
    '[{"id":7},{"id":8},{"id":9},{"id":8}]',
    { key: 'id', file: 'twice.json' },
    /^line 1: the key "id" has the value 8 again, earlier on this line; /,
  )
})

const years = [{ year: 1900 }, { year: 'c. 1850' }, { year: null }, { year: '200' }, { year: [1] }]
const mixed = ndjson(years.map((record, id) => ({ id, ...record })))

test('D2 a declared type says how a field is described and sorted, and records stay as they were', async t => {
  const service = await startService(t)
  await importText(service, mixed, { entity: 'mixed', key: 'id', types: typesOf({ year: 'text' }) })
  assert.deepEqual((await described(service, 'mixed'))?.fields, [
    { name: 'id', type: 'integer', nullable: false },
    { name: 'year', type: 'text', nullable: true },
  ])
  const sorted = await list(service.client(), 'mixed', { order_by: [{ field: 'year' }] })
  assert.deepEqual(
    sorted.map(({ year }) => year),
    [1900, '200', [1], 'c. 1850', null],
  )
  // For a key, the type text also accepts values that would be json.
  const texts = ndjson([{ id: 'b' }, { id: 10 }, { id: 9 }])
  await importText(service, texts, { entity: 'texts', key: 'id', types: typesOf({ id: 'text' }) })
  assert.equal(await bodyOf(service, listPath('texts')), '[{"id":10},{"id":9},{"id":"b"}]')
  await refuses(
    service,
    '{"id":10}\n{"id":"10"}',
    { key: 'id', types: typesOf({ id: 'text' }) },
    /^line 2: the key "id" has the value "10" again, as on line 1; /,
  )
})

test('D2 a value that its declared type has no room for is refused by its line', async t => {
  const service = await startService(t)
  for (const [type, good, bad] of [
    ['integer', ['1', '-12345678901234567890'], ['1.5', '"1"', 'true', '[1]']],
    ['number', ['1', '0.5', '1e400'], ['"1"', 'false', '{}']],
    ['boolean', ['true', 'false'], ['0', '"true"']],
    ['date-time', ['"2020-01-01T00:00:00Z"'], ['"soon"', 'true', '"1577836800000"']],
    ['json', ['1', '"a"', '[]'], []],
    ['text', ['1', '"a"', '[]', 'true'], []],
  ] as const) {
    const types = typesOf({ x: type })
    const lines = [...good, 'null'].map((value, id) => `{"id":${id},"x":${value}}\n`)
    const report = await importText(service, lines.join(''), { entity: 'good', key: 'id', types })
    assert.deepEqual(report.fields[1], { name: 'x', type, nullable: true, nulls: 1 })
    for (const value of bad)
      await refuses(
        service,
        `{"id":1}\n\n{"id":2,"x":${value}}\n`,
        { key: 'id', types },
        new RegExp(
          `^line 3: the field "x" is declared as ${type} and has the value .*; (correct the value|write a date)`,
        ),
      )
  }
  await refuses(
    service,
    '{"id":1}',
    { key: 'id', types: typesOf({ yaer: 'text' }) },
    /no record has the field "yaer"; there are id/,
  )
})

test('D2 cells of CSV become what their column is declared to be', async t => {
  const service = await startService(t)
  const text = 'id,isbn,n,tags,yes\n1,0042,1e3,"[1,""a""]",TRUE\n2,17,,{},false\n'
  const types = typesOf({ isbn: 'text', n: 'number', tags: 'json', yes: 'boolean' })
  await importText(service, text, { entity: 'cells', key: 'id', file: 'cells.csv', types })
  assert.deepEqual(await list(service.client(), 'cells'), [
    { id: 1, isbn: '0042', n: 1_000, tags: [1, 'a'], yes: true },
    { id: 2, isbn: '17', n: null, tags: {}, yes: false },
  ])
  for (const [type, cell, message] of [
    ['integer', '007', /^line 3: the field "x" is declared as integer and has the value "007"/],
    ['number', '1,5', /^line 3: the field "x" is declared as number and has the value "1,5"/],
    ['boolean', 'yes', /^line 3: the field "x" is declared as boolean and has the value "yes"/],
    ['json', 'a', /^line 3: the column "x" is declared as json and has the value "a", which is not valid/],
    [
      'json',
      `${'['.repeat(1_001)}${']'.repeat(1_001)}`,
      /^line 3: the column "x" has arrays and objects nested more than 1,000 levels deep; flatten them/,
    ],
  ] as const)
    await refuses(
      service,
      `id,x\n1,\n2,"${cell}"\n`,
      { key: 'id', file: 'bad.csv', types: typesOf({ x: type }) },
      message,
    )
})

test('D2 the report names the lines that make a field json', async t => {
  const service = await startService(t)
  const report = await importText(service, mixed, { entity: 'mixed', key: 'id' })
  const mix = { line: 2, kind: 'text', earlier: { line: 1, kind: 'integer' } }
  assert.deepEqual(report.fields[1], { name: 'year', type: 'json', nullable: true, nulls: 1, mix })
  const done = await carrel(service.dataFolder, ['import', '-', '--entity', 'again', '--key', 'id'], {
    input: mixed,
  })
  assert.match(
    done.stdout,
    /^year is json, because line 2 has text and line 1 an integer; `--type year=text` would make it text\.$/m,
  )
})

const artists = ['di Suvero', 'Zyw', 'Ångström', 'Andersson', 'dix', 'Dix', 'Örn', 'Zorn', 'Émile', 'Eva', '']

test('Q6 Q12 Q17 a field with a collation sorts as the language does, and is described with it', async t => {
  const service = await startService(t)
  const records = [...artists, null, ...artists].map((name, id) => ({ id, name }))
  for (const [collation, expected] of [
    ['und', ['', 'Andersson', 'Ångström', 'di Suvero', 'dix', 'Dix', 'Émile', 'Eva', 'Örn', 'Zorn', 'Zyw']],
    ['sv', ['', 'Andersson', 'di Suvero', 'dix', 'Dix', 'Émile', 'Eva', 'Zorn', 'Zyw', 'Ångström', 'Örn']],
    [undefined, artists.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))],
  ] as const) {
    const collations = collationsOf(collation ? { name: collation } : {})
    await importText(service, ndjson(records), { entity: 'artists', key: 'id', collations })
    assert.deepEqual((await described(service, 'artists'))?.fields[1], {
      name: 'name',
      type: 'text',
      nullable: true,
      ...(collation && { collation }),
    })
    const twice = [...expected, ...expected].length
    for (const [order, names] of [
      ['asc', [...expected.flatMap(name => [name, name]), null]],
      ['desc', [null, ...expected.toReversed().flatMap(name => [name, name])]],
    ] as const) {
      const sorted = await list(service.client(), 'artists', { order_by: [{ field: 'name', order }] })
      assert.equal(sorted.length, twice + 1)
      assert.deepEqual(
        sorted.map(({ name }) => name),
        names,
        `${collation} ${order}`,
      )
      // Equal names are sorted by the key.
      assert.ok(
        sorted.every(
          (one, at) => one.name !== sorted[at - 1]?.name || one.id === Number(sorted[at - 1]?.id) + 12,
        ),
      )
    }
  }
})

test('Q6 Q17 texts that a collation takes for equal sort by code point, in a key as well', async t => {
  const service = await startService(t)
  // One letter composed and decomposed, and one that a collation ignores.
  const names = ['é', 'e\u0301', 'a\u0001', 'a', 'b', '\ud800', 'z\ud800', 'z']
  const records = names.map((name, id) => ({ name, id }))
  const expected = ['a', 'a\u0001', 'b', 'e\u0301', 'é', 'z']
  for (const key of ['id', 'name'] as const) {
    const wellFormed = records.filter(({ name }) => key === 'id' || name.isWellFormed())
    await importText(service, ndjson(wellFormed), {
      entity: 'same',
      key,
      collations: collationsOf({ name: 'und' }),
    })
    const sorted = await list(service.client(), 'same', { order_by: [{ field: 'name' }] })
    assert.deepEqual(
      sorted.map(({ name }) => String(name)).filter(name => name.isWellFormed()),
      expected,
    )
  }
  assert.deepEqual(
    (await list(service.client(), 'same')).map(({ name }) => name),
    expected,
    'without an order, the key has its collation too',
  )
})

test('Q17 only text has a collation', async t => {
  const service = await startService(t)
  const collations = collationsOf({ x: 'sv' })
  for (const [value, type] of [
    ['1', 'integer'],
    ['true', 'boolean'],
    ['"2020-01-01T00:00:00Z"', 'date-time'],
    ['[]', 'json'],
  ])
    await refuses(
      service,
      `{"id":1,"x":${value}}`,
      { key: 'id', collations },
      new RegExp(`"x" is ${type}, and only text has a collation; declare it as text with --type`),
    )
  await refuses(service, '{"id":1}', { key: 'id', collations }, /no record has the field "x"; there are id/)
  const text = ndjson([1, 'ö', 'z', '2'].map((x, id) => ({ id, x })))
  await importText(service, text, { entity: 'mixed', key: 'id', collations, types: typesOf({ x: 'text' }) })
  const sorted = await list(service.client(), 'mixed', { order_by: [{ field: 'x' }] })
  assert.deepEqual(
    sorted.map(({ x }) => x),
    [1, '2', 'z', 'ö'],
  )
})

test('D2 --key, --type and --collation name fields, quoted as in the header of a CSV file', async t => {
  const service = await startService(t)
  const done = await carrel(
    service.dataFolder,
    [
      ...['import', '-', '--entity', 'odd', '--read', 'anonymous', '--json'],
      ...['--key', '"a,b",c', '--key', 'd"e', '--type', 'a=b=text', '--collation', 'a=b=SV'],
    ],
    { input: '"a,b",c,"d""e",a=b\n1,2,3,4\n' },
  )
  assert.equal(done.code, 0, done.stderr)
  const report = JSON.parse(done.stdout) as { key: string[]; fields: unknown[] }
  assert.deepEqual(report.key, ['a,b', 'c', 'd"e'])
  assert.deepEqual(report.fields.at(-1), {
    name: 'a=b',
    type: 'text',
    nullable: false,
    collation: 'sv',
    nulls: 0,
  })
  assert.deepEqual((await described(service, 'odd'))?.key, ['a,b', 'c', 'd"e'])
})

testOn('sqlite', 'D1 wrong --key, --type and --collation are wrong use, and say what is right', async t => {
  const dataFolder = temporaryFolder(t, engineIn(t))
  for (const [options, message] of [
    [['--key', ''], /names of fields, separated by commas/],
    [['--key', 'id,'], /names of fields, separated by commas/],
    [['--key', '"id'], /as in a CSV header/],
    [['--key', 'id,id'], /names the field "id" twice/],
    [['--key', 'id', '--key', 'id'], /names the field "id" twice/],
    [['--key', 'id', '--type', 'year'], /takes <field>=text\|integer\|number\|boolean\|date-time\|json/],
    [['--key', 'id', '--type', 'year=int'], /"int" is not a type; the types are text, integer, /],
    [['--key', 'id', '--type', 'a=text', '--type', 'a=json'], /names the field "a" twice/],
    [['--key', 'id', '--collation', 'title'], /takes <field>=<language tag>/],
    [
      ['--key', 'id', '--collation', 'title=tlh'],
      /no collation for "tlh".*such as en, sv or de-u-co-phonebk/,
    ],
  ] as const) {
    const args = ['import', '-', '--entity', 'thing', ...options]
    const done = await carrel(dataFolder, args, { input: '{"id":1}' })
    assert.equal(done.code, 2, done.stderr)
    assert.match(done.stderr, /^carrel: [^\n]+\n$/)
    assert.match(done.stderr, message)
  }
})
