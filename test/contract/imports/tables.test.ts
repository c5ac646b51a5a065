import assert from 'node:assert/strict'
import { ImportError } from '../../../src/import/import-error.ts'
import type { ReadingOptions } from '../../../src/import/reading-options.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { bodyOf, list, listPath } from '../../support/clients/listings.ts'
import { changeText, importText } from '../../support/data/imports.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

const recordsOf = async (
  service: Service,
  content: string | Uint8Array,
  reading: ReadingOptions = {},
  key: string = 'id',
) => {
  const report = await importText(service, content, { entity: 'thing', key, file: 'table.csv', reading })
  return { report, records: JSON.parse(await bodyOf(service, listPath('thing'))) }
}

test('D2 LF, CRLF and CR end a row wherever they stand outside quotes', async t => {
  const service = await startService(t)
  const two = [
    { id: 1, name: 'a' },
    { id: 2, name: 'b' },
  ]
  const long = 'x'.repeat(256 * 1024 - 'id,name\r\n1,\r'.length)
  for (const [text, expected] of [
    ['id,name\n1,a\r\n2,b\r\n', two],
    ['id,name\r\n1,a\n2,b', two],
    ['id,name\r1,a\r2,b\n', two],
    ['id,name\r1,a\r\n2,b\r', two],
    ['\nid,name\r1,a\r2,b\r', two],
    ['\r\n\r\nid,name\n\n1,a\r\r\r\n\n2,b\r\n\r', two],
    ['\ufeffid,name\r1,a\n2,b\r', two],
    ['id,name\r1,"a"\r2,"b"\r', two],
    ['id,name\n1,"a"\r\n2,"b"\r', two],
    [
      'id,n\n1,5\r\n2,6\r\n',
      [
        { id: 1, n: 5 },
        { id: 2, n: 6 },
      ],
    ],
    [
      'id,name\n1,"a\rb"\r\n2,"c\r\nd\n"\r',
      [
        { id: 1, name: 'a\rb' },
        { id: 2, name: 'c\r\nd\n' },
      ],
    ],
    ['id\n1\r\n', [{ id: 1 }]],
    // The CRLF crosses the boundary between two pieces of the file.
    [
      `id,name\r\n1,${long}\r\n2,b\r\n`,
      [
        { id: 1, name: long },
        { id: 2, name: 'b' },
      ],
    ],
    [`id,name\r\n1,"${long.slice(2)}"\r\n2,b\r\n`, [{ id: 1, name: long.slice(2) }, two[1]]],
  ] as const) {
    const { records } = await recordsOf(service, text)
    assert.deepEqual(records, expected, JSON.stringify(text).slice(0, 80))
  }
})

test('D2 lines are counted by LF, CRLF and CR, in quoted cells too', async t => {
  const service = await startService(t)
  for (const [text, line] of [
    ['id,t\n1,a\r\n2\r', 3],
    ['id,t\r1,a\r2\r', 3],
    ['\r\n\nid,t\r\r1,"a\rb\r\nc"\n2\n', 8],
    ['id,t\r\n1,"a\r\n', 2],
    ['id,t\r1,a\r2,b"c\r', 3],
    ['id,t\r1,a\r2,"b"c\r', 3],
    ['id,t\n1,"a\nb\n2,c"d\n', 2],
  ] as const)
    await refuses(service, text, new RegExp(`^line ${line}: `))
})

test('D12 keys are found in a file whose rows end in CRLF after a header that ends in LF', async t => {
  const service = await startService(t)
  await importText(service, '{"id":"x1","name":"old"}\n{"id":"x2"}\n{"id":"x3","name":"old"}', {
    entity: 'thing',
    key: 'id',
  })
  const change = (text: string, kind: 'update' | 'delete', reading: ReadingOptions = {}) =>
    changeText(service, text, { entity: 'thing', kind, file: 'changes.csv', reading })
  const updated = await change('name,id\nNEW,x3\r\n', 'update')
  assert.deepEqual([updated.replaced, updated.inserted], [1, 0])
  const deleted = await change('id\nx1\r\nx2\r\n', 'delete')
  assert.deepEqual([deleted.deleted, deleted.unchanged], [2, 0])
  await change('name;id\nNEWER;x3\r\n', 'update')
  await change(Buffer.from('name;id\nM\xfcller;x4\r', 'latin1').toString('latin1'), 'update')
  assert.deepEqual(await list(service.client(), 'thing'), [
    { id: 'x3', name: 'NEWER' },
    { id: 'x4', name: 'Müller' },
  ])
})

test('D2 commas, semicolons, tabs and vertical bars between cells are told by the header and the first rows', async t => {
  const service = await startService(t)
  const plain = [{ id: 1, 'title, if any': 'a, b;c', n: 2 }]
  for (const delimiter of [',', ';', '\t', '|'] as const) {
    const quoted = (cells: readonly string[]) =>
      cells.map(cell => (/[,;|\t]/.test(cell) ? `"${cell}"` : cell)).join(delimiter)
    const { report, records } = await recordsOf(
      service,
      `${quoted(['id', 'title, if any', 'n'])}\r\n${quoted(['1', 'a, b;c', '2'])}\r\n`,
    )
    assert.deepEqual([records, report.delimiter], [plain, delimiter])
  }
  for (const [text, key, delimiter, names] of [
    ['id;title, if any\n1;a, b\n', 'id', ';', ['id', 'title, if any']],
    ['id,a;b\n1,x;y\n', 'id', ',', ['id', 'a;b']],
    ['id,tags\n1,a|b|c\n2,d\n', 'id', ',', ['id', 'tags']],
    ['id\ttitle\n1\t5" wide\n'.replace('" wide', ' in'), 'id', '\t', ['id', 'title']],
    // A quoted cell over several lines, with other delimiters in it.
    ['id;text\n1;"a,b,c\nd,e,f"\n2;"g,h"\n', 'id', ';', ['id', 'text']],
    ['id\n1\n', 'id', ',', ['id']],
    ['sep=;\nid;name\n1;a\n', 'id', ';', ['id', 'name']],
    ['sep=,\r\nid,name\r\n1,a\r\n', 'id', ',', ['id', 'name']],
    ['\ufeff"sep=\t"\rid\tna;me\r1\ta\r', 'id', '\t', ['id', 'na;me']],
    ['', 'id', ',', []],
  ] as const) {
    if (names.length === 0) {
      await refuses(service, text, /no record has the key field/)
      continue
    }
    const { report } = await recordsOf(service, text, {}, key)
    assert.deepEqual([report.delimiter, report.fields.map(({ name }) => name)], [delimiter, names], text)
  }
  const asked = await recordsOf(service, 'a;b\n1\n', { delimiter: ',' }, 'a;b')
  assert.deepEqual(asked.records, [{ 'a;b': 1 }])
})

test('D2 what is no table is refused, also with a key that the first line happens to be', async t => {
  const service = await startService(t)
  for (const [text, message, key] of [
    [
      'id;name;city\n1\n2\n',
      /^line 2: the row and the header differ in length: 1 and 3 cells/,
      'id;name;city',
    ],
    ['a|b\n1\n', /^line 2: the row and the header differ in length/, 'a|b'],
    ['<!DOCTYPE html>\n<html><body>Log in</body></html>\n', /is a page of HTML/, '<!DOCTYPE html>'],
    ['\ufeff\n  <HTML lang="en">\n', /is a page of HTML/],
    ['<?xml version="1.0"?>\n<records/>\n', /is an XML document/],
    [',id,name\n0,1,a\n', /^line 1: column 1 has no name; R and pandas/],
    ['"","id"\n"1",5\n', /^line 1: column 1 has no name; R and pandas/],
    ['id,name,\n1,a,\n', /^line 1: column 3 has no name; the line ends in a comma/],
    ['id;name;;\n1;a;;\n', /^line 1: column 3 has no name; the line ends in a semicolon/],
    ['id,,name\n1,2,a\n', /^line 1: column 2 has no name; the first line names the columns/],
    ['id,name\n1,a,\n', /^line 2: .*the row ends in a comma and the header doesn't/],
    ['"id","name"\n"1",5,"a"\n', /^line 2: .*row\.names = FALSE/],
  ] as const)
    await refuses(service, text, message, key)
})

test('D2 decimal commas and dates with the day first are read where that is asked for, and suggested', async t => {
  const service = await startService(t)
  const text = [
    'id;price;when;size;code;mixed;month',
    '1;1.234,50;31.12.2024;1,5;1.234;1,5;01/02/2020',
    '2;-7;1.2.2020;2;5.678;1.5;02/03/2020',
    '3;;29.02.2024;0,25;1.000;x;03/04/2020',
    '',
  ].join('\n')
  const { report, records } = await recordsOf(service, text)
  assert.deepEqual(
    report.fields.map(({ name, type, looks }) => [name, type, looks]),
    [
      ['id', 'integer', undefined],
      ['price', 'text', 'decimal-comma'],
      ['when', 'text', 'day-first'],
      ['size', 'text', 'decimal-comma'],
      ['code', 'number', undefined],
      ['mixed', 'text', undefined],
      // The first number may be the month.
      ['month', 'text', undefined],
    ],
  )
  assert.deepEqual([records[0].price, records[0].when], ['1.234,50', '31.12.2024'])
  const asked = await recordsOf(service, text, { decimalComma: true, dayFirst: true })
  assert.deepEqual(
    asked.records.map((one: Record<string, unknown>) => Object.values(one)),
    [
      [1, 1234.5, '2024-12-31', 1.5, '1.234', '1,5', '2020-02-01'],
      [2, -7, '2020-02-01', 2, '5.678', '1.5', '2020-03-02'],
      [3, null, '2024-02-29', 0.25, '1.000', 'x', '2020-04-03'],
    ],
  )
  assert.ok(asked.report.fields.every(({ looks }) => looks === undefined))
  await changeText(service, 'id;price;when;size\n1;2,5;1.2.2021;7,25\n', {
    ...{ entity: 'thing', kind: 'update', file: 'changes.csv' },
    reading: { decimalComma: true, dayFirst: true },
  })
  const [changed] = await list<Record<string, unknown>>(service.client(), 'thing')
  assert.deepEqual([changed?.price, changed?.when, changed?.size], [2.5, '2021-02-01', 7.25])
  // This day doesn't exist.
  const none = await recordsOf(service, 'id;d\n1;31.02.2020\n2;13.01.2020\n', { dayFirst: true })
  assert.deepEqual(none.records[0].d, '31.02.2020')
})

testOn('sqlite', 'D1 D2 the command takes the options, and says what it took', async t => {
  const { dataFolder } = await startService(t)
  const words = ['import', '-', '--entity', 'thing', '--key', 'id']
  const table = Buffer.from('id;name;n\n1;M\xfcller;1,5\n', 'latin1')
  const refused = await carrel(dataFolder, words, { input: table })
  assert.match(
    refused.stderr,
    /^carrel: line 2: not UTF-8: the byte 0xFC in column 4; as Windows-1252 it would be "Müller": if that is right, use --encoding windows-1252\n$/,
  )
  const { stdout, code } = await carrel(dataFolder, [...words, '--encoding', 'windows-1252'], {
    input: table,
  })
  assert.equal(code, 0)
  assert.match(
    stdout,
    /^n: text that looks like numbers with decimal commas; `--decimal-comma` would make it numbers, and `--type <field>=number` beside it /m,
  )
  assert.match(stdout, /^Cells are separated by a semicolon; .*\nThe file is windows-1252\.$/m)
  const done = await carrel(
    dataFolder,
    [...words, '--encoding=latin1', '--decimal-comma', '--delimiter', 'semicolon', '--json'],
    { input: table },
  )
  const { delimiter, encoding, fields } = JSON.parse(done.stdout)
  assert.deepEqual([delimiter, encoding, fields[2].type], [';', 'windows-1252', 'number'])
  for (const [option, message] of [
    ['--delimiter=x', /It takes comma, semicolon, tab, pipe/],
    ['--encoding=klingon', /"klingon" is not an encoding that is read; the encodings are utf-8, /],
  ] as const) {
    const wrong = await carrel(dataFolder, [...words, option], { input: table })
    assert.deepEqual([wrong.code, message.test(wrong.stderr)], [2, true], wrong.stderr)
  }
})

test('EA5 EA6 the parameters of an import over HTTP are the options of the command', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const csv = { 'content-type': 'text/csv' }
  const table = 'id;name;n;day\n1;a;1,5;31.12.2024\n'
  const seen = await root.post('/thing/import?preview=true&key=id;name;n', table, csv)
  assert.deepEqual([seen.body.delimiter, seen.body.encoding, seen.body.faults.length], [';', 'utf-8', 1])
  const preview = await root.post('/thing/import?preview=true&key=id', table, csv)
  assert.deepEqual(
    [preview.body.delimiter, preview.body.faults, preview.body.sample],
    [';', [], [{ id: '1', name: 'a', n: '1,5', day: '31.12.2024' }]],
  )
  assert.deepEqual(
    preview.body.fields.map(({ looks }: { looks?: string }) => looks),
    [undefined, undefined, 'decimal-comma', 'day-first'],
  )
  const bytes = Buffer.from(table.replace(';a;', ';\xe4h;'), 'latin1')
  const bad = await root.post('/thing/import?preview=true&key=id', bytes, csv)
  assert.match(
    bad.body.faults[0].message,
    /^not UTF-8: .*"äh": if that is right, use the parameter encoding=windows-1252$/,
  )
  const process = await root.imports(
    '/thing/import?key=id&read=anonymous&delimiter=%3B&encoding=windows-1252&decimal-comma=true&day-first=true',
    bytes,
    csv,
  )
  assert.deepEqual([process.result?.delimiter, process.result?.encoding], [';', 'windows-1252'])
  assert.deepEqual(await list(service.client(), 'thing'), [{ id: 1, name: 'äh', n: 1.5, day: '2024-12-31' }])
  for (const wrong of [
    'delimiter=x',
    'encoding=x',
    'decimal-comma=yes',
    'day-first=1',
    'delimiter=%3B&delimiter=%3B',
  ])
    assert.equal((await root.post(`/thing/import?key=id&${wrong}`, table, csv)).status, 400, wrong)
})

async function refuses(
  service: Service,
  content: string | Uint8Array,
  message: RegExp,
  key: string = 'id',
): Promise<void> {
  const error = await importText(service, content, { entity: 'kept', key, file: 'table.csv' }).then(
    () => assert.fail(`it was imported: ${Buffer.from(content).subarray(0, 100).toString()}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ImportError, String(error))
  assert.match(error.message, message)
}
