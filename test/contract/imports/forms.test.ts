import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { preview } from '../../../src/entities/preview.ts'
import { chooseRecipe, optionsOf, parseRecipe } from '../../../src/entities/recipe.ts'
import type { Recipe } from '../../../src/model/recipes.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { bodyOf, list, listPath } from '../../support/clients/listings.ts'
import { changeText, importText } from '../../support/data/imports.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

/** Imports a table by a recipe. */
async function imported(service: Service, text: string, recipe: Recipe = {}, file = 'table.csv') {
  const { types, reading } = optionsOf({ recipe, isGiven: true, isKept: false })
  const key = recipe.key?.[0] ?? 'id'
  const { notes = [], fields } = await importText(service, text, {
    ...{ entity: 'thing', file, key, types, reading },
  })
  const looks = Object.fromEntries(fields.flatMap(field => (field.looks ? [[field.name, field.looks]] : [])))
  const body = await bodyOf(service, listPath('thing'))
  return { records: JSON.parse(body), body, notes, looks }
}

async function faultsOf(service: Service, text: string, recipe: Recipe = {}) {
  const file = join(service.dataFolder, 'preview.csv')
  writeFileSync(file, text)
  const { types, collations, reading } = optionsOf({ recipe, isGiven: true, isKept: false })
  const options = { name: 'thing', key: recipe.key?.[0] ?? 'id', types, collations, reading }
  const found = await preview(file, service.storage.entities, options, () => {})
  return found.faults
}

const lone = (separator: string) =>
  [`id${separator}name${separator}note`, `1${separator}"abc${separator}x`, `2${separator}def"${separator}y`]
    .concat(`3${separator}z${separator}w`, '')
    .join('\n')

test('D21 quotes of a table with tabs are text where a quoted cell would take in rows, and the report says so', async t => {
  const service = await startService(t)
  const rows = [
    { id: 1, name: '"abc', note: 'x' },
    { id: 2, name: 'def"', note: 'y' },
    { id: 3, name: 'z', note: 'w' },
  ]
  const { records, notes } = await imported(service, lone('\t'))
  assert.deepEqual(records, rows)
  assert.deepEqual(notes, [{ kind: 'quotes-are-text', field: null, count: 1, line: 2 }])

  const quoted = await imported(service, lone('\t'), { quote: 'double' })
  assert.deepEqual(quoted.records[0], { id: 1, name: 'abc\tx\n2\tdef', note: 'y' })
  assert.deepEqual(quoted.notes, [])
  // Lines that would be no rows of their own are what a spreadsheet writes.
  const cells = await imported(service, 'id\tname\n1\t"a\tb\nc"\n2\td\n')
  assert.deepEqual(cells.records[0], { id: 1, name: 'a\tb\nc' })
  assert.deepEqual(cells.notes, [{ kind: 'rows-in-quotes', field: null, count: 1, line: 2 }])

  const header = await imported(service, 'id\t"name\n1\ta"\n2\tb\n', {
    fields: { '"name': { rename: 'name' } },
  })
  assert.deepEqual(header.records[0], { id: 1, name: 'a"' })
})

test('D21 quotes are quotes in a table with tabs where anything proves it', async t => {
  const service = await startService(t)
  const pasted = 'id\tk\tnote\n1\tx\t"see\na\tb\tc"\n'
  const cell = { id: 1, k: 'x', note: 'see\na\tb\tc' }
  for (const proof of ['2\ty\t"say ""hi"""\n', '2\ty\t"a\nb"\n', '2\ty\t"a\tb"\n']) {
    const { records, notes } = await imported(service, pasted + proof)
    assert.deepEqual([records.length, records[0]], [2, cell], proof)
    assert.deepEqual(notes[0], { kind: 'rows-in-quotes', field: null, count: 1, line: 2 })
  }
  const header = await imported(service, pasted.replace('note', '"note"'))
  assert.deepEqual(header.records, [cell])
})

test('D21 a recipe that is kept says that quotes were taken as text, and so the next file is read alike', async t => {
  const service = await startService(t)
  const { entities } = service.storage
  const recipe: Recipe = { fields: { note: { rename: 'remark' } } }
  const { types, reading } = optionsOf({ recipe, isGiven: true, isKept: false })
  await importText(service, lone('\t'), { entity: 'thing', file: 'a.tsv', key: 'id', types, reading, recipe })
  const kept = (await entities.all()).get('thing')?.recipe
  assert.deepEqual(kept, { ...recipe, quote: 'none' })
  const again = optionsOf(chooseRecipe(undefined, {}, kept ?? undefined))
  const next = 'id\tname\tnote\n1\t"q"\tx\n'
  await changeText(service, next, { entity: 'thing', kind: 'update', file: 'b.tsv', reading: again.reading })
  assert.equal((await list(service.client(), 'thing'))[0]?.name, '"q"')
})

test('D21 no rows of any table are taken into a quoted cell without a word', async t => {
  const service = await startService(t)
  for (const separator of [',', ';', '|']) {
    const { records, notes } = await imported(service, lone(separator))
    assert.equal(records.length, 2)
    assert.deepEqual(notes, [{ kind: 'rows-in-quotes', field: null, count: 1, line: 2 }])
    const plain = await imported(service, lone(separator), { quote: 'none' })
    assert.deepEqual([plain.records.length, plain.notes], [3, []])
  }
  const text = await imported(service, 'id,name,note\n1,"a, b\nc",x\n')
  assert.deepEqual(text.notes, [])
})

test('D21 a fault of quoting between tabs or vertical bars names --quote none, which reads the file', async t => {
  const service = await startService(t)
  for (const separator of ['\t', '|'])
    for (const cell of ['47°22\'30" N', '"open', '"a" b']) {
      const text = `id${separator}at\n1${separator}${cell}\n`
      const [fault] = await faultsOf(service, text)
      assert.match(fault?.message ?? '', /if quotes are text in this file, --quote none reads it$/)
      assert.deepEqual(fault?.repair, { quote: 'none' })
      const { records } = await imported(service, text, fault?.repair)
      assert.deepEqual(records, [{ id: 1, at: cell }])
    }
  const [comma] = await faultsOf(service, 'id,at\n1,5" wide\n')
  assert.equal(comma?.repair, undefined)
  const [uneven] = await faultsOf(service, 'id\tat\n1\t"a\tb"\n', { quote: 'none' })
  assert.match(uneven?.message ?? '', /quotes are text here; .* --quote double reads them/)
})

test('D22 a row that is too short says that cells are missing, which can be taken as empty', async t => {
  const service = await startService(t)
  const text = 'id,a,b\n1,x\n2,y,z\n3\n'
  const faults = await faultsOf(service, text)
  assert.deepEqual(
    faults.map(({ line, repair }) => [line, repair]),
    [
      [2, { shortRows: true }],
      [4, { shortRows: true }],
    ],
  )
  assert.match(
    faults[0]?.message ?? '',
    /2 and 3 cells; cells are missing at the end of the row: .*--short-rows/,
  )
  const { records, notes } = await imported(service, text, { shortRows: true })
  assert.deepEqual(records, [
    { id: 1, a: 'x', b: null },
    { id: 2, a: 'y', b: 'z' },
    { id: 3, a: null, b: null },
  ])
  assert.deepEqual(notes, [{ kind: 'short-rows', field: null, count: 2, line: 2 }])
  const names = Array.from({ length: 1_900 }, (_, at) => `c${at}`).join()
  const [many] = await faultsOf(service, `id,${names.slice(0, -6)}\n${'1\n'.repeat(12_000)}`, {
    shortRows: true,
  })
  assert.match(many?.message ?? '', /more than 20,000,000 cells are missing/)
  const wide = `id,${names.slice(0, -6)}\n${Array.from({ length: 1_200 }, (_, id) => `${id}\n`).join('')}`
  await imported(service, 'id\n1\n')
  await assert.rejects(
    changeText(service, wide, {
      ...{ entity: 'thing', kind: 'update', file: 'b.csv', reading: { shortRows: true } },
    }),
    { message: /more than 2,000,000 cells are missing/ },
  )
  const blank = await imported(service, 'id,a\n1\n  \n2\n', { shortRows: true })
  assert.equal(blank.records.length, 2)
  const [long] = await faultsOf(service, 'id,a\n1,x,y\n2\n', { shortRows: true })
  assert.match(long?.message ?? '', /3 and 2 cells; write a cell that has a comma in double quotes/)
  assert.equal(long?.repair, undefined)
})

test('D22 a row that is too short because a quoted cell holds a delimiter offers to take quotes as text', async t => {
  const service = await startService(t)
  for (const separator of ['\t', '|']) {
    const text = ['id', 'title', 'note\n1', '"Long', 'John"\n'].join(separator)
    for (const recipe of [{}, { shortRows: true }]) {
      const [fault] = await faultsOf(service, text, recipe)
      assert.match(fault?.message ?? '', /2 and 3 cells; a cell in double quotes .* --quote none reads it$/)
      assert.deepEqual(fault?.repair, { quote: 'none' })
    }
    const { records } = await imported(service, text, { quote: 'none' })
    assert.deepEqual(records, [{ id: 1, title: '"Long', note: 'John"' }])
    const short = await imported(service, text, { quote: 'double', shortRows: true })
    assert.deepEqual(short.records, [{ id: 1, title: `Long${separator}John`, note: null }])
  }
  const [comma] = await faultsOf(service, 'id,title,note\n1,"Long, John"\n')
  assert.match(comma?.message ?? '', /cells are missing at the end of the row, or a cell in double quotes/)
  assert.equal(comma?.repair, undefined)
})

test('D23 records that no field tells apart are numbered in the order of the file', async t => {
  const service = await startService(t)
  const table = 'taxonID,name\n5,a\n\n5,b\n7,c\n'
  const [fault] = await faultsOf(service, table, { key: ['taxonID'] })
  assert.match(fault?.message ?? '', /number the records with --key _row$/)
  assert.deepEqual(fault?.repair, { key: ['_row'] })
  const rows = [
    { _row: 1, taxonID: 5, name: 'a' },
    { _row: 2, taxonID: 5, name: 'b' },
    { _row: 3, taxonID: 7, name: 'c' },
  ]
  const lines = rows.map(({ _row, ...record }) => JSON.stringify(record))
  for (const [text, file] of [
    [table, 'a.csv'],
    [`${lines.join('\n\n')}\n`, 'a.ndjson'],
    [`[${lines.join()}]`, 'a.json'],
  ] as const)
    for (const _ of ['first', 'again']) {
      const { records, notes } = await imported(service, text, { key: ['_row'] }, file)
      assert.deepEqual(records, rows)
      assert.deepEqual(notes, [{ kind: 'rows-numbered', field: '_row', count: 0, line: 1 }])
    }
  for (const kind of ['update', 'delete'] as const)
    await assert.rejects(changeText(service, table, { entity: 'thing', kind, file: 'b.csv' }), {
      message: /the key of thing is _row, and this file has no such field, so it can't name records/,
    })
})

test('D23 a field _row that a file has by itself is a key as any other', async t => {
  const service = await startService(t)
  for (const [text, file] of [
    ['_row,a\n7,x\n', 'a.csv'],
    ['{"_row":7,"a":"x"}\n', 'a.ndjson'],
  ] as const) {
    const own = await imported(service, text, { key: ['_row'] }, file)
    assert.deepEqual([own.records, own.notes], [[{ _row: 7, a: 'x' }], []])
    for (const [change, name] of [
      ['_row,a\n7,y\n8,z\n', 'b.csv'],
      ['{"_row":7,"a":"y"}\n{"_row":8,"a":"z"}\n', 'b.ndjson'],
    ] as const) {
      await imported(service, text, { key: ['_row'] }, file)
      const { replaced, inserted } = await changeText(service, change, {
        ...{ entity: 'thing', kind: 'update', file: name },
      })
      assert.deepEqual([replaced, inserted], [1, 1])
    }
    const recipe = { key: ['_row'], fields: { _row: { rename: 'n' } } }
    assert.deepEqual((await imported(service, text, recipe, file)).records, [{ _row: 1, n: 7, a: 'x' }])
  }
  const [fault] = await faultsOf(service, '_row,a\n7,x\n7,y\n', { key: ['_row'] })
  assert.match(fault?.message ?? '', /the value 7 again, as on line 2; each record needs a key of its own$/)
  await assert.rejects(imported(service, '{"a":1}\n{"_row":1}\n', { key: ['_row'] }, 'a.ndjson'), {
    message: /line 2: this record has a field _row of its own, and those before it were numbered/,
  })
})

const days = ['2024-03-31', '2024-03-31T10:00', '2024-04-01 10:00:00', '2024-W14', '20240331T1000+02']
const instants = [
  ...['2024-03-31T00:00:00Z', '2024-03-31T10:00:00Z', '2024-04-01T10:00:00Z', '2024-04-01T00:00:00Z'],
  '2024-03-31T08:00:00Z',
]

test('D24 a field declared as date-time takes what queries take, and the report counts what was assumed', async t => {
  const service = await startService(t)
  const written = '2024-03-31T10:00:00.50+02:00'
  const recipe: Recipe = { fields: { at: { read: 'date-time' } } }
  const notes = [
    { kind: 'no-time', field: 'at', count: 2, line: 2, example: '2024-03-31' },
    { kind: 'no-zone', field: 'at', count: 2, line: 3, example: '2024-03-31T10:00' },
  ]
  const table = `id,at\n${[...days, written].map((day, id) => `${id},${day}\n`).join('')}`
  const found = await imported(service, table, recipe)
  assert.deepEqual(
    found.records.map(({ at }: { at: string }) => at),
    [...instants, written],
  )
  assert.deepEqual(found.notes, notes)
  for (const [at, day] of days.entries())
    assert.ok(
      (await list(service.client(), 'thing', { query: JSON.stringify(['=', 'at', day]) })).some(
        ({ id }) => id === at,
      ),
      day,
    )
  const lines = days.map((at, id) => JSON.stringify({ id, at }))
  const json = await imported(service, `${lines.join('\n')}\n`, recipe, 'a.ndjson')
  assert.deepEqual(
    json.records.map(({ at }: { at: string }) => at),
    instants,
  )
  const changed = await changeText(service, 'id,at\n0,2025\n', {
    entity: 'thing',
    kind: 'update',
    file: 'b.csv',
  })
  assert.deepEqual([changed.replaced, changed.notes?.map(({ kind }) => kind)], [1, ['no-time']])
  assert.equal((await list(service.client(), 'thing'))[0]?.at, '2025-01-01T00:00:00Z')
})

test('D24 what is no time is refused, and the message names forms that would do', async t => {
  const service = await startService(t)
  const recipe: Recipe = { fields: { at: { read: 'date-time' } } }
  for (const value of ['soon', '2024-02-30', '1711843200', '31.12.2024']) {
    const [fault] = await faultsOf(service, `id,at\n1,${value}\n`, recipe)
    assert.match(fault?.message ?? '', /write a date such as "2026-01-31", a date-time such as "2026-01-31T/)
  }
  // A number may be a year, seconds or milliseconds.
  for (const number of ['2024', '1711843200000', '1.50'])
    await assert.rejects(imported(service, `{"id":1,"at":${number}}\n`, recipe, 'a.ndjson'), {
      message: /declared as date-time and has the value .*; write a date such as "2026-01-31"/,
    })
  await imported(service, 'id,at\n1,2024\n', recipe)
  await assert.rejects(
    changeText(service, '{"id":1,"at":2025}\n', { entity: 'thing', kind: 'update', file: 'b.ndjson' }),
    { message: /is date-time, and this record has 2025; write a date such as/ },
  )
})

test('D24 what is assumed of many fields is counted in all parts of a file', async t => {
  const service = await startService(t)
  const names = Array.from({ length: 60 }, (_, at) => `t${at}`)
  const fields = Object.fromEntries(names.map(name => [name, { read: 'date-time' }] as const))
  // The second half has more fields, and they come first.
  const text = Array.from({ length: 4_000 }, (_, id) => {
    const some = names.slice(id < 2_000 ? 10 : 0)
    return JSON.stringify({ id, ...Object.fromEntries(some.map(name => [name, '2024-03-31'])) })
  })
  const { notes } = await imported(service, `${text.join('\n')}\n`, { fields }, 'a.ndjson')
  assert.deepEqual(
    notes.map(({ field, count }) => [field, count]),
    names.slice(10).map(name => [name, 4_000]),
  )
})

test('D25 numbers with commas, spaces and apostrophes between thousands, signs of currency and parentheses are offered and read', async t => {
  const service = await startService(t)
  const point = [
    ['1,234.50', '1234.50'],
    ['1,234,567', '1234567'],
    ['1 234', '1234'],
    ['1\u00a0234\u00a0567.25', '1234567.25'],
    ['1\u202f234', '1234'],
    ["1'234", '1234'],
    ['1\u2019234.5', '1234.5'],
    ['(5)', '-5'],
    ['$1,323.25', '1323.25'],
    ['-$1,323.25', '-1323.25'],
    ['($12,345,678,901,234,567,890.10)', '-12345678901234567890.10'],
    ['\u22127', '-7'],
  ] as const
  const comma = [
    ['1 234,5', '1234.5'],
    ['1.234.567,00', '1234567.00'],
    ['1\u202f234,50\u00a0€', '1234.50'],
    ["1'234,5", '1234.5'],
  ] as const
  for (const [cases, way, option] of [
    [point, 'decimal-point', { decimalPoint: true }],
    [comma, 'decimal-comma', { decimalComma: true }],
  ] as const)
    for (const [text, number] of cases) {
      const table = `id;n\n1;${text}\n`
      const asIs = await imported(service, table)
      assert.deepEqual([asIs.records, asIs.looks], [[{ id: 1, n: text }], { n: way }], text)
      const isPlain = /^[\d.,-]+$/.test(text)
      const declared = { ...option, fields: { n: { read: 'number' } } } as const
      if (!isPlain) assert.equal((await imported(service, table, option)).records[0].n, text)
      for (const recipe of [
        ...(isPlain ? [option] : []),
        declared,
        { fields: { n: { read: way } } },
      ] as const) {
        const { body } = await imported(service, table, recipe)
        assert.match(body, new RegExp(`"n": ?${number.replace('.', '\\.')}[,}\\s]`), text)
      }
    }
})

test('D25 an option for the whole file reads digits, points and commas alone', async t => {
  const service = await startService(t)
  const table = 'id;ref;p;year;n\n1;(1);5 €;2 100;1.234,5\n'
  const { records, looks } = await imported(service, table, { decimalComma: true })
  assert.deepEqual(records, [{ id: 1, ref: '(1)', p: '5 €', year: '2 100', n: 1234.5 }])
  assert.deepEqual(looks, { ref: 'decimal-point', p: 'decimal-point', year: 'decimal-point' })
  const points = await imported(service, 'id;a;b\n1;(1);1,234.5\n', { decimalPoint: true })
  assert.deepEqual(points.records, [{ id: 1, a: '(1)', b: 1234.5 }])
  // In updates, the type of the entity says nothing of these forms, and the recipe of a field does.
  const change = { entity: 'thing', kind: 'update', file: 'b.csv' } as const
  await assert.rejects(
    changeText(service, 'id;b\n1;(7)\n', { ...change, reading: { decimalPoint: true, delimiter: ';' } }),
    { message: /this record has "\(7\)"; use "read": "decimal-point" for the field in a recipe to read -7,/ },
  )
})

test('D25 currencies are not merged, and an offer says which sign goes', async t => {
  const service = await startService(t)
  const offersOf = async (text: string) => {
    const file = join(service.dataFolder, 'preview.csv')
    writeFileSync(file, text)
    const options = { name: 'thing', key: 'id', types: new Map(), collations: new Map() }
    const { fields } = await preview(file, service.storage.entities, options, () => {})
    return [fields[1]?.offers, fields[1]?.currency]
  }
  assert.deepEqual(await offersOf('id;n\n1;$5\n2;€6\n'), [undefined, undefined])
  assert.deepEqual(await offersOf('id;n\n1;$5\n2;6\n'), [[{ read: 'decimal-point' }], '$'])
  for (const fields of [{ n: { read: 'decimal-point' } }, { n: { read: 'number' } }] as const) {
    const recipe: Recipe = { fields, decimalPoint: true }
    const [fault] = await faultsOf(service, 'id;n\n1;$5\n2;€6\n', recipe)
    assert.match(fault?.message ?? '', /has amounts in \$ and the value "€6"/)
    assert.equal(fault?.line, 3)
  }
  const lines = '{"id":1,"n":"$5"}\n{"id":2,"n":"€6"}\n'
  await assert.rejects(imported(service, lines, { fields: { n: { read: 'decimal-point' } } }, 'a.ndjson'), {
    message: /line 2: .*don't tell currencies apart/,
  })
})

test('D25 decimal commas are not offered where one column would be read in two ways', async t => {
  const service = await startService(t)
  const offersOf = async (...values: readonly string[]) => {
    const file = join(service.dataFolder, 'preview.csv')
    writeFileSync(file, `id;n\n${values.map((value, id) => `${id};${value}\n`).join('')}`)
    const options = { name: 'thing', key: 'id', types: new Map(), collations: new Map() }
    return (await preview(file, service.storage.entities, options, () => {})).fields[1]?.offers
  }
  assert.deepEqual(await offersOf('1.5', '1.500', '1,5'), [])
  assert.deepEqual(await offersOf('1.500', '1,5'), [{ read: 'decimal-comma' }])
})

test('D25 numbers that may be two are not guessed, and what is no number stays text', async t => {
  const service = await startService(t)
  const table = 'id;n\n1;1,234\n2;5\n'
  const { records, looks } = await imported(service, table)
  assert.deepEqual([records[0], looks], [{ id: 1, n: '1,234' }, { n: 'decimal-comma-or-point' }])
  assert.equal((await imported(service, table, { decimalComma: true })).records[0].n, 1.234)
  assert.equal((await imported(service, table, { decimalPoint: true })).records[0].n, 1234)
  const [fault] = await faultsOf(service, table, { fields: { n: { read: 'number' } } })
  assert.match(fault?.message ?? '', /use --decimal-comma to read 1.234, or --decimal-point to read 1234,/)
  for (const text of [
    '1,23,4',
    '1,234 567',
    '(5',
    '5)',
    '-(5)',
    '$5€',
    '1  234',
    '007,1',
    '1,234.5.6',
    '--5',
  ]) {
    const { records, looks } = await imported(service, `id;n\n1;${text}\n`, { decimalPoint: true })
    assert.deepEqual([records[0].n, looks], [text, {}], text)
  }
  // Dollars and euros can't be told apart once they are numbers.
  const money = await imported(service, 'id;n\n1;$5\n2;€6\n', { decimalPoint: true })
  assert.deepEqual(money.records[0], { id: 1, n: '$5' })
  assert.throws(() => parseRecipe('{"decimalComma":true,"decimalPoint":true}'), /exclude each other/)
  const chosen = chooseRecipe({ decimalComma: true }, { file: { decimalPoint: true } }, undefined)
  assert.deepEqual(optionsOf(chosen).reading.decimalComma, false)
})

test('EA5 the new ways of reading are parameters and members of a recipe, and a preview has codes for them', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const csv = { 'content-type': 'text/csv' }
  const look = async (query: string, text: string) => {
    const { status, body } = await root.post(`/thing/import?preview=true&${query}`, text, csv)
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  const short = await look('key=id', 'id,a\n1\n')
  assert.deepEqual(short.faults[0].repair, { shortRows: true })
  assert.match(short.faults[0].message, /the parameter short-rows=true$/)
  assert.equal((await look('key=id&short-rows=true', 'id,a\n1\n')).notes[0].kind, 'short-rows')
  const quote = await look('key=id', 'id\ta\n1\t5" x\n')
  assert.match(quote.faults[0].message, /the parameter quote=none reads it$/)
  assert.deepEqual((await look('key=id&quote=none', 'id\ta\n1\t5" x\n')).faults, [])
  const number = await look('key=_row&decimal-point=true', 'id,a\n1,"1,234"\n')
  assert.deepEqual(
    number.fields.map(({ name, type }: { name: string; type: string }) => [name, type]),
    [
      ['_row', 'integer'],
      ['id', 'integer'],
      ['a', 'integer'],
    ],
  )
  assert.deepEqual((await look('key=id', 'id,a\n1,"1,234"\n')).fields[1].offers, [
    { read: 'decimal-comma' },
    { read: 'decimal-point' },
  ])
  for (const query of ['quote=single', 'decimal-comma=true&decimal-point=true', 'short-rows=yes'])
    assert.equal((await root.post(`/thing/import?key=id&${query}`, 'id\n1\n', csv)).status, 400, query)
})

test('D2 a file that is not there is named before anything else, and no store is made for it', async t => {
  const service = await startService(t)
  for (const args of [[], ['--dry-run'], ['--update'], ['--recipe', 'none.json']]) {
    const { code, stderr } = await carrel(service.dataFolder, [
      'import',
      'nofile.csv',
      '--entity',
      'a',
      ...args,
    ])
    assert.deepEqual([code, stderr], [1, 'carrel: there is no file nofile.csv\n'])
  }
})
