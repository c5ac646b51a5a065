import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { commandEvent } from '../../../src/cli/store.ts'
import { bodyOf, list, listPath, readCsv } from '../../support/clients/listings.ts'
import { books } from '../../support/data/books.ts'
import { csvOf, importText, leftoversIn, ndjson, realData, wide } from '../../support/data/imports.ts'
import { repeats } from '../../support/scale.ts'
import { engineIn, test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'

test('D2 NDJSON: a record a line, blank lines and a byte-order mark passed over, LF or CRLF', async t => {
  const service = await startService(t)
  const lines = books.map(book => JSON.stringify(book))
  for (const text of [
    lines.join('\n'),
    `${lines.join('\n')}\n`,
    `\ufeff${lines.join('\r\n')}\r\n`,
    `\n\n${lines.join('\n \t\n')}\n\n`,
  ])
    await importsBooks(service, text, 'books.ndjson')
  await importsBooks(service, ndjson(books), 'books.jsonl')
  await importsBooks(service, ndjson(books), 'no-telling-name')
})

test('D2 a JSON array, in one line or pretty-printed, brackets and escapes inside of strings', async t => {
  const service = await startService(t)
  for (const text of [
    JSON.stringify(books),
    JSON.stringify(books, null, 2),
    `\ufeff \r\n${JSON.stringify(books, null, '\t')}\n\n`,
    JSON.stringify(books, null, 1).replaceAll('\n', '\r\n'),
  ])
    await importsBooks(service, text, 'books.json')
  await importsBooks(service, JSON.stringify(books), 'books.ndjson')
})

test('D2 a file is read right wherever the borders of its pieces fall', async t => {
  const service = await startService(t)
  // A file is read in pieces of 256 kB. Brackets, escapes and parts of a character all fall on a boundary.
  const tail = '\\"]},{[\u{1f600}ä"\n,'.repeat(8)
  const records = Array.from({ length: 60 }, (_, id) => ({
    id,
    text: `${'x'.repeat(13_093 + id)}${tail}`,
  }))
  for (const [file, text] of [
    ['a.ndjson', ndjson(records)],
    ['a.json', JSON.stringify(records)],
    ['b.json', JSON.stringify(records, null, 3)],
    ['a.csv', csvOf(records)],
    ['a.json.gz', gzipSync(JSON.stringify(records))],
  ] as const) {
    await importText(service, text, { entity: 'wide', key: 'id', file })
    assert.equal(await bodyOf(service, listPath('wide')), JSON.stringify(records), file)
  }
})

test('D2 CSV: quotes, commas and line ends in cells, LF or CRLF, empty cells are null', async t => {
  const service = await startService(t)
  const text = 'id,"the ""title""",n\r\n2,"a ""b"", c\r\nd",\r\n1,plain,-4\r\n3,"",0\r\n'
  const expected = [
    { id: 1, 'the "title"': 'plain', n: -4 },
    { id: 2, 'the "title"': 'a "b", c\r\nd', n: null },
    { id: 3, 'the "title"': null, n: 0 },
  ]
  for (const one of [text, `\ufeff${text}`, text.trimEnd(), text.replaceAll('\r\n', '\n')]) {
    await importText(service, one, { entity: 'cells', key: 'id', file: 'cells.csv' })
    const lineEnd = one.includes('\r\n') ? '\r\n' : '\n'
    assert.deepEqual(
      await list(service.client(), 'cells'),
      JSON.parse(JSON.stringify(expected).replaceAll('\\r\\n', JSON.stringify(lineEnd).slice(1, -1))),
    )
  }
})

test('D2 CSV columns become numbers, true and false only where every cell is one', async t => {
  const service = await startService(t)
  const rows = [
    ['id', 'whole', 'decimal', 'both', 'yes', 'zeros', 'mixed', 'plus', 'when', 'big', 'none', 'exp'],
    [
      '1',
      '5',
      '1.5',
      '1',
      'true',
      '007',
      '1',
      '+1',
      '2020-01-01T00:00:00Z',
      '12345678901234567890',
      '',
      '1e5',
    ],
    ['2', '-10', '-0.25', '2.5', 'FALSE', '12', 'x', '2', '2020-01-01T00:00:00+02:00', '1', '', '2'],
    ['3', '', '', '', '', '', '', '', '', '', '', ''],
  ]
  const report = await importText(service, rows.map(row => row.join(',')).join('\n'), {
    entity: 'types',
    key: 'id',
    file: 'types.csv',
  })
  assert.deepEqual(
    report.fields.map(({ name, type, nulls }) => [name, type, nulls]),
    [
      ['id', 'integer', 0],
      ['whole', 'integer', 1],
      ['decimal', 'number', 1],
      ['both', 'number', 1],
      ['yes', 'boolean', 1],
      ['zeros', 'text', 1],
      ['mixed', 'text', 1],
      ['plus', 'text', 1],
      ['when', 'date-time', 1],
      ['big', 'integer', 1],
      ['none', 'text', 3],
      ['exp', 'text', 1],
    ],
  )
  assert.equal(
    await bodyOf(service, listPath('types', { limit: 1 })),
    '[{"id":1,"whole":5,"decimal":1.5,"both":1,"yes":true,"zeros":"007","mixed":"1","plus":"+1","when":"2020-01-01T00:00:00Z","big":12345678901234567890,"none":null,"exp":"1e5"}]',
  )
})

test('D2 gzip is recognised by its content, whatever the file is called', async t => {
  const service = await startService(t)
  await importsBooks(service, gzipSync(ndjson(books)), 'books.ndjson.gz')
  await importsBooks(service, gzipSync(JSON.stringify(books, null, 2)), 'books.json.gz')
  await importsBooks(service, gzipSync(JSON.stringify(books)), 'books')
  // RFC 1952 §2.2: a file may consist of several members.
  await importsBooks(
    service,
    Buffer.concat(books.map(book => gzipSync(`${JSON.stringify(book)}\n`))),
    'books.ndjson.gz',
  )
  const csv = gzipSync(csvOf(books.map(({ id, title }) => ({ id, title }))))
  await importText(service, csv, { entity: 'books', key: 'id', file: 'books.csv.gz' })
  const titles = await list(service.client(), 'books')
  assert.deepEqual(
    titles.map(book => book.title),
    books.map(book => book.title || null),
  )
})

testOn('sqlite', 'D2 gzip files that are read in one piece are imported again and again', async t => {
  const service = await startService(t)
  for (let round = 0; round < repeats(10, 40); round++)
    for (const [file, text] of [
      ['small.ndjson.gz', '{"id":1}\n'],
      ['small.csv.gz', 'id\n1\n'],
    ] as const) {
      const report = await importText(service, gzipSync(text), { entity: 'small', key: 'id', file })
      assert.equal(report.records, 1)
    }
})

test('D2 names of fields are kept as they are, in the order in which they are first met', async t => {
  const service = await startService(t)
  const names = [
    '',
    'a b',
    'select',
    'ä',
    '__proto__',
    'constructor',
    '"',
    "'",
    'a.b',
    'Name',
    'name',
    'NAME',
    '\0',
  ]
  const cells = names.map(name => JSON.stringify(name))
  await importText(
    service,
    `{"id":2,${cells[0]}:0}\n{"id":1,${cells.map((name, at) => `${name}:${at}`).join(',')}}\n`,
    { entity: 'odd', key: 'id' },
  )
  const odd = (await list<{ fields: { name: string }[] }>(service.client(), '')).at(-1)
  assert.deepEqual(
    odd?.fields.map(field => field.name),
    ['id', ...names],
  )
  const text = await bodyOf(service, listPath('odd', { limit: 1 }))
  assert.equal(text, `[{"id":1,${cells.map((name, at) => `${name}:${at}`).join(',')}}]`)
})

test('D2 a file of a header only gives an entity without records', async t => {
  const service = await startService(t)
  for (const text of ['id,title', '\ufeff"id","title"\r\n']) {
    const report = await importText(service, text, { entity: 'empty', key: 'id', file: 'empty.csv' })
    assert.equal(report.records, 0)
    assert.equal(await bodyOf(service, listPath('empty')), '[]')
    assert.equal(await bodyOf(service, listPath('empty'), 'text/csv'), 'id,title\r\n')
  }
})

test('D2 entities of long names that begin alike are imported, replaced and dropped each by itself', async t => {
  const service = await startService(t)
  const [one, other] = [`${'a'.repeat(62)}b`, `${'a'.repeat(62)}c`]
  for (const id of [1, 2])
    for (const entity of [one, other]) {
      await importText(service, JSON.stringify({ id, entity }), { entity, key: 'id' })
      assert.deepEqual(await list(service.client(), entity), [{ id, entity }])
    }
  assert.equal(await service.storage.entities.drop(other, commandEvent('entity.drop')), true)
  assert.deepEqual(await list(service.client(), one), [{ id: 2, entity: one }])
})

test('D2 an import replaces records, fields, key and rule together, and leaves no files behind', async t => {
  const service = await startService(t)
  await importText(service, '{"id":1,"old":true}', { entity: 'thing', key: 'id' })
  await importText(service, '{"no":"x","new":1}', { entity: 'thing', key: 'no' })
  assert.equal(await bodyOf(service, listPath('thing')), '[{"no":"x","new":1}]')
  const thing = (await list<{ key: string; fields: { name: string }[] }>(service.client(), '')).at(-1)
  assert.equal(thing?.key, 'no')
  assert.deepEqual(
    thing.fields.map(field => field.name),
    ['no', 'new'],
  )
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
})

test('D2 records of many different fields come back with all of them', async t => {
  const service = await startService(t)
  await importText(service, wide(300), { entity: 'wide', key: 'id' })
  assert.equal(await bodyOf(service, listPath('wide')), `[${wide(300).trim()}]`)
})

test('D2 an import and a drop are on the audit trail', async t => {
  const service = await startService(t)
  const client = await service.addLoggedIn('root@example.org', { admin: true })
  await importText(service, '{"id":1}', { entity: 'thing', key: 'id' })
  await service.storage.entities.drop('thing', commandEvent('entity.drop'))
  const events = await list(client, 'audit-events', { order_by: [{ field: 'id', order: 'desc' }], limit: 2 })
  assert.deepEqual(
    events.map(({ event, outcome, object }) => [event, outcome, object]),
    [
      ['entity.drop', 'success', 'thing'],
      ['entity.import', 'success', 'thing'],
    ],
  )
})

test('D2 the command imports a file into a running service', async t => {
  const service = await startService(t)
  const file = join(service.dataFolder, 'books.ndjson')
  await importText(service, ndjson(books.slice(1)), { entity: 'books', key: 'id', file: 'books.ndjson' })
  assert.equal((await list(service.client(), 'books')).length, 2)
  await importText(service, ndjson(books), { entity: 'ignored', key: 'id', file: 'books.ndjson' })
  const done = await carrel(service.dataFolder, [
    'import',
    file,
    '--entity',
    'books',
    '--key',
    'id',
    '--read',
    'anonymous',
  ])
  assert.equal(done.code, 0, done.stderr)
  assert.match(done.stdout, /^FIELD +TYPE +NULLS$/m)
  assert.match(done.stdout, /^title +text +0$/m)
  assert.match(done.stdout, /^Imported 3 records into books in \d+\.\d s\.$/m)
  assert.deepEqual(await list(service.client(), 'books'), books)

  const dropped = await carrel(service.dataFolder, ['entity', 'drop', 'books'])
  assert.equal(dropped.code, 0, dropped.stderr)
  assert.equal((await service.client().get(listPath('books'))).status, 404)
  assert.equal((await carrel(service.dataFolder, ['entity', 'drop', 'books'])).code, 1)
})

test('D2 the command reads standard input: NDJSON, a JSON array, CSV, and gzip of each', async t => {
  const service = await startService(t)
  const env = { TMPDIR: temporaryFolder(t) }
  const plain = [
    ndjson(books),
    JSON.stringify(books, null, 2),
    csvOf(books.map(({ id, title }) => ({ id, title }))),
  ]
  // Reading is the same for every store, but the leftovers are not.
  const inputs = plain.flatMap(text => [text, gzipSync(text)])
  for (const input of engineIn(t) === 'sqlite' ? inputs : inputs.slice(1, 3)) {
    const args = [
      'import',
      '-',
      '--entity',
      'books',
      '--key',
      'id',
      '--read',
      'anonymous',
      '--replace',
      '--json',
    ]
    const done = await carrel(service.dataFolder, args, { input, env })
    assert.equal(done.code, 0, done.stderr)
    const report = JSON.parse(done.stdout) as { records: number; entity: string }
    assert.deepEqual([report.entity, report.records], ['books', 3])
    assert.deepEqual(
      (await list(service.client(), 'books')).map(book => book.title || ''),
      books.map(book => book.title),
    )
  }
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
  assert.deepEqual(readdirSync(env.TMPDIR), [])
})

testOn('sqlite', 'D2 Q11 --read says who may read, administrators where it is left out', async t => {
  const service = await startService(t)
  const ruth = await service.addLoggedIn('ruth@example.org', { groups: ['Readers'] })
  for (const [read, anonymous, eperson] of [
    [[], 401, 403],
    [['--read', 'admin'], 401, 403],
    [['--read', 'eperson'], 401, 200],
    [['--read', 'group:Readers'], 401, 200],
    [['--read', 'group:Administrator'], 401, 403],
    [['--read', 'anonymous'], 200, 200],
  ] as const) {
    const args = ['import', '-', '--entity', 'thing', '--key', 'id', ...read]
    const done = await carrel(service.dataFolder, args, { input: '{"id":1}' })
    assert.equal(done.code, 0, done.stderr)
    assert.equal((await service.client().get(listPath('thing'))).status, anonymous, read.join(' '))
    assert.equal((await ruth.get(listPath('thing'))).status, eperson, read.join(' '))
  }
})

test('D2 Q1 Q2 real records: artworks come back as they are, by acno and by id', async t => {
  const service = await startService(t)
  const path = realData(t, 'tate-artworks.ndjson.gz')
  const text = path ? gunzipSync(readFileSync(path)).toString() : ndjson(generatedArtworks(20_000))
  const lines = text.trimEnd().split('\n').slice(0, repeats(16_000, Number.POSITIVE_INFINITY))
  const records = lines.map(line => JSON.parse(line) as Record<string, unknown>)
  const report = await importText(service, gzipSync(lines.join('\n')), {
    entity: 'artworks',
    key: 'acno',
    file: 'artworks.ndjson.gz',
  })
  assert.equal(report.records, lines.length)
  for (const key of ['acno', 'id']) {
    const expected = records
      .toSorted((a, b) => compare(a[key], b[key]))
      .map(record => `${JSON.stringify(record)}\n`)
    const path = listPath('artworks', key === 'id' ? { order_by: [{ field: key }] } : {})
    const body = await bodyOf(service, path, 'application/x-ndjson')
    assert.ok(body === expected.join(''), `the listing by ${key} equals the file`)
  }
  const order_by = [{ field: 'artist' }, { field: 'acquisitionYear', order: 'desc' }]
  const page = await list(service.client(), 'artworks', { order_by, limit: 300, offset: 15_000 })
  const expected = records.toSorted(
    (a, b) =>
      compareNullable(a.artist, b.artist, 1) ||
      compareNullable(a.acquisitionYear, b.acquisitionYear, -1) ||
      compare(a.acno, b.acno),
  )
  assert.deepEqual(page, expected.slice(15_000, 15_300))
})

test('D2 Q1 real records: 3,532 artists of a CSV file come back cell by cell', async t => {
  const service = await startService(t)
  const path = realData(t, 'tate-artists.csv')
  const text = path ? readFileSync(path, 'utf8') : `\ufeff${csvOf(generatedArtworks(3_000))}`
  const report = await importText(service, text, { entity: 'artists', key: 'id', file: 'artists.csv' })
  const [header = [], ...rows] = readCsv(
    `${text
      .replace(/^\ufeff/, '')
      .replaceAll(/\r?\n/g, '\r\n')
      .trimEnd()}\r\n`,
  )
  assert.equal(report.records, rows.length)
  const names = header.map(cell => cell.text)
  const records = await list(service.client(), 'artists')
  const expected = rows
    .map(row => Object.fromEntries(row.map((cell, at) => [names[at] ?? '', cell.text])))
    .toSorted((a, b) => Number(a.id) - Number(b.id))
  assert.deepEqual(
    records.map(record =>
      Object.fromEntries(
        Object.entries(record).map(([name, value]) => [name, value === null ? '' : String(value)]),
      ),
    ),
    expected,
  )
})

async function importsBooks(service: Service, content: string | Uint8Array, file: string): Promise<void> {
  const report = await importText(service, content, { entity: 'books', key: 'id', file })
  assert.equal(report.records, 3)
  assert.deepEqual(
    report.fields.map(({ name, type, nullable, nulls }) => [name, type, nullable, nulls]),
    [
      ['id', 'integer', false, 0],
      ['title', 'text', false, 0],
      ['pages', 'number', true, 1],
      ['rare', 'boolean', false, 0],
      ['at', 'date-time', false, 0],
      ['of', 'json', true, 1],
    ],
    file,
  )
  assert.equal(await bodyOf(service, listPath('books')), JSON.stringify(books))
}

const generatedArtworks = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    id: (n * 7_919) % 100_003,
    acno: `A${String(n).padStart(5, '0')}`,
    artist: n % 11 === 0 ? null : `Ärtist ${n % 97}, "${n % 3}"`,
    acquisitionYear: n % 13 === 0 ? null : 1_900 + (n % 100),
  }))

const compare = (a: unknown, b: unknown) =>
  typeof a === 'number' && typeof b === 'number' ? a - b : bytesOf(String(a)).compare(bytesOf(String(b)))

const known = new Map<string, Buffer>()
/** Encodes each text once, because sorting compares it many times. */
function bytesOf(text: string): Buffer {
  const bytes = known.get(text) ?? Buffer.from(text)
  known.set(text, bytes)
  return bytes
}

const compareNullable = (a: unknown, b: unknown, sign: 1 | -1) =>
  sign * (a === null || b === null ? Number(a === null) - Number(b === null) : compare(a, b))
