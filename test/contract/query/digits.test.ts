import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { ImportError } from '../../../src/import/import-error.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { bodyOf, listPath, queryPath } from '../../support/clients/listings.ts'
import { assertDone, backUp, emptyPlace, restore } from '../../support/data/backups.ts'
import { changeText, importText } from '../../support/data/imports.ts'
import { recordPath } from '../../support/data/record-writes.ts'
import { engineIn, test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'

/**
 * Lines with numbers that are equal, or that JavaScript would print differently, as a source writes them
 * (docs/decisions/0063).
 */
const lines = [
  '{"id":1,"n":1998.1,"j":{"a":[1.0,{"b":-0.0}]},"m":"x"}',
  '{"id":2.0,"n":1998.10,"j":{"a":[1,{"b":0}]},"m":1.50}',
  '{"id":3,"n":1E+05,"j":[0.0000001,1e400,"1.10"],"m":1.5}',
  '{"id":4,"n":-0,"j":9007199254740993.0,"m":true}',
  '{"id":5,"n":1.10,"j":2.50,"m":[2.50]}',
  '{"id":6,"n":1.1,"j":2.5,"m":[2.5]}',
]
const table = [
  'id,n,j,m',
  '1,1998.1,"{""a"":[1.0,{""b"":-0.0}]}",x',
  '2.0,1998.10,"{""a"":[1,{""b"":0}]}",1.50',
  '3,1E+05,"[0.0000001,1e400,""1.10""]",1.5',
  '4,-0,9007199254740993.0,true',
  '5,1.10,2.50,[2.50]',
  '6,1.1,2.5,[2.5]',
]

async function withThings(t: TestContext): Promise<Service> {
  const service = await startService(t)
  await importText(service, lines.join('\n'), { entity: 'thing', key: 'id' })
  return service
}

/** @returns the text of the answer */
const asked = (service: Service, query: readonly unknown[], more = {}) =>
  bodyOf(service, listPath('thing', { query, ...more }))

test('Q28 numbers keep their digits in JSON, NDJSON and CSV, at any depth, in pages, rows and single records', async t => {
  const service = await withThings(t)
  const path = listPath('thing')
  assert.equal(await bodyOf(service, path), `[${lines.join()}]`)
  assert.equal(await bodyOf(service, path, 'application/x-ndjson'), `${lines.join('\n')}\n`)
  assert.equal(await bodyOf(service, path, 'text/csv'), `${table.join('\r\n')}\r\n`)
  const page = listPath('thing', { limit: 2, offset: 1, order_by: [{ field: 'n', order: 'desc' }] })
  assert.equal(await bodyOf(service, page), `[${lines[0]},${lines[1]}]`)
  for (const [query, expected] of [
    [['extract', ['n'], ['=', 'id', 2]], '[{"n":1998.10}]'],
    [['extract', ['j.a'], ['=', 'id', 1]], '[{"j.a":[1.0,{"b":-0.0}]}]'],
    [['extract', ['j[0]', 'm'], ['=', 'id', 3]], '[{"j[0]":0.0000001,"m":1.5}]'],
    [
      ['extract', [['function', 'to_string', 'n', '9990.000']], ['=', 'id', 5]],
      '[{"to_string":"    1.100"}]',
    ],
  ] as const)
    assert.equal(await asked(service, query), expected, JSON.stringify(query))
  for (const key of ['2', '2.0', '2.00'])
    assert.equal(await bodyOf(service, `${queryPath}/thing/${key}`), lines[1])
  assert.match(await bodyOf(service, `${queryPath}/thing/2?pretty=true`), /"id": 2\.0,\n {2}"n": 1998\.10,/)
  assert.match(await bodyOf(service, listPath('thing', { pretty: true })), /"n": 1E\+05,\n/)
  // A table with declared types yields the same records.
  const types = new Map([['j', 'json'] as const, ['m', 'json'] as const, ['n', 'number'] as const])
  const cells = table.map(line => line.replace(/,x$/, ',"""x"""')).join('\n')
  await importText(service, cells, { entity: 'thing', key: 'id', file: 'thing.csv', types })
  assert.equal(await bodyOf(service, path), `[${lines.join()}]`)
})

test('Q28 numbers are equal by value, whatever their digits', async t => {
  const service = await withThings(t)
  for (const [condition, ids] of [
    [
      ['=', 'n', 1998.1],
      [1, 2],
    ],
    [['>=', 'n', 100_000], [3]],
    [['=', 'n', 0], [4]],
    [
      ['<', 'n', 1.11],
      [4, 5, 6],
    ],
    [
      ['=', 'j', 2.5],
      [5, 6],
    ],
    [
      ['in', 'm', ['array', [1.5, 'x']]],
      [1, 2, 3],
    ],
    [
      ['in', 'n', ['from', 'thing', ['extract', 'n', ['=', 'id', 5]]]],
      [5, 6],
    ],
    [
      ['in', 'm', ['from', 'thing', ['extract', 'm', ['=', 'id', 5]]]],
      [5, 6],
    ],
    [
      ['in', 'j', ['from', 'thing', ['extract', 'j', ['=', 'id', 2]], ['limit', 1]]],
      [1, 2],
    ],
  ] as const) {
    const found = JSON.parse(await asked(service, ['extract', 'id', condition])) as { id: number }[]
    assert.deepEqual(
      found.map(({ id }) => id),
      ids,
      JSON.stringify(condition),
    )
  }
  const sorted = JSON.parse(await bodyOf(service, listPath('thing', { order_by: [{ field: 'n' }] })))
  assert.deepEqual(
    sorted.map(({ id }: { id: number }) => id),
    [4, 5, 6, 1, 2, 3],
  )
  const count = ['function', 'count']
  const some = ['sum', 'avg', 'min', 'max'].map(name => ['function', name, 'n'])
  for (const [query, expected] of [
    // A group shows the value of its first record, and so do minimum and maximum.
    [
      ['extract', ['n', count], ['group_by', 'n']],
      '[{"n":-0,"count":1},{"n":1.10,"count":2},{"n":1998.1,"count":2},{"n":1E+05,"count":1}]',
    ],
    [['extract', some, ['=', 'n', 1.1]], '[{"sum":2.2,"avg":1.1,"min":1.10,"max":1.10}]'],
    [['extract', some], '[{"sum":103998.4,"avg":17333.066666666666,"min":-0,"max":1E+05}]'],
    [
      ['extract', ['n', 'm', 'j'].map(name => ['function', 'count_distinct', name])],
      '[{"count_distinct":4,"count_distinct_1":4,"count_distinct_2":4}]',
    ],
    [['extract', 'j.a', ['=', 'n', 1998.1], ['distinct']], '[{"j.a":[1.0,{"b":-0.0}]}]'],
    [['extract', ['n', count], ['group_by', 'n'], ['having', ['=', 'n', 1.1]]], '[{"n":1.10,"count":2}]'],
  ] as const) {
    const body = await asked(service, query)
    assert.equal(
      body.replaceAll(/"count_distinct[^"]*"/g, '"distinct"'),
      expected.replaceAll(/"count_distinct[^"]*"/g, '"distinct"'),
      JSON.stringify(query),
    )
  }
})

const numbered = 'id,object_number\n1,1998.1\n3,1998.10\n'

test('D14 an import says where different texts are equal numbers, and offers text, which tells them apart', async t => {
  const service = await startService(t)
  const { fields } = await importText(service, numbered, { entity: 'thing', key: 'id', file: 'things.csv' })
  const digits = { line: 3, text: '1998.10', earlier: { line: 2, text: '1998.1' } }
  assert.deepEqual(
    fields.map(field => [field.name, field.type, field.digits]),
    [
      ['id', 'integer', undefined],
      ['object_number', 'number', digits],
    ],
  )
  assert.equal(
    await bodyOf(service, listPath('thing')),
    '[{"id":1,"object_number":1998.1},{"id":3,"object_number":1998.10}]',
  )
  const file = join(service.dataFolder, 'things.csv')
  const words = ['import', file, '--entity', 'thing', '--key', 'id', '--read', 'anonymous']
  const said = assertDone(await carrel(service.dataFolder, words))
  assert.ok(
    said.includes(
      'object_number: line 2 has 1998.1 and line 3 1998.10, which are equal numbers; `--type object_number=text` would tell them apart.',
    ),
    said,
  )
  const told = assertDone(await carrel(service.dataFolder, [...words, '--type', 'object_number=text']))
  assert.doesNotMatch(told, /equal numbers/)
  assert.equal(
    await bodyOf(service, listPath('thing')),
    '[{"id":1,"object_number":"1998.1"},{"id":3,"object_number":"1998.10"}]',
  )
  const root = await administrator(service)
  const csv = { 'content-type': 'text/csv' }
  const preview = await root.post('/thing/import?preview=true&key=id', numbered, csv)
  assert.deepEqual(preview.body.fields[1].digits, digits)
  // No digits are reported if each number has one form, or if the type was declared.
  for (const [text, types] of [
    ['id,n\n1,1.10\n2,1.10\n3,2.50\n4,3\n', new Map()],
    ['id,n\n1,1.1\n2,1.10\n', new Map([['n', 'number' as const]])],
  ] as const) {
    const report = await importText(service, text, { entity: 'price', key: 'id', file: 'price.csv', types })
    assert.deepEqual(
      report.fields.map(field => [field.type, field.digits]),
      [
        ['integer', undefined],
        ['number', undefined],
      ],
    )
  }
})

test('D14 equal numbers in different texts are found in nested company and far apart', async t => {
  const service = await startService(t)
  const rows = Array.from({ length: 70_000 }, (_, n) => `${n},${n + 2}.25`)
  rows[69_999] = '69999,7.250'
  const { fields } = await importText(service, `id,n\n${rows.join('\n')}`, {
    entity: 'far',
    key: 'id',
    file: 'far.csv',
  })
  assert.deepEqual(fields[1]?.digits, {
    line: 70_001,
    text: '7.250',
    earlier: { line: 7, text: '7.25' },
  })
  const mixed = await importText(
    service,
    '{"id":1,"n":"x"}\n{"id":2,"n":5.0}\n{"id":3,"n":[5]}\n{"id":4,"n":5}\n',
    {
      entity: 'mixed',
      key: 'id',
    },
  )
  assert.deepEqual(mixed.fields[1]?.digits, { line: 4, text: '5', earlier: { line: 2, text: '5.0' } })
})

test('D14 keys that are equal numbers are refused with both texts and the reason, and are two keys of a field of text', async t => {
  const service = await startService(t)
  const refused = async (text: string, key: string | string[], file: string) => {
    try {
      await importText(service, text, { entity: 'thing', key, file })
    } catch (error) {
      assert.ok(error instanceof ImportError)
      return error.message
    }
    return assert.fail(text)
  }
  assert.equal(
    await refused(numbered, 'object_number', 'things.csv'),
    'line 3: the key "object_number" has 1998.10 after 1998.1 on line 2, which are equal numbers; each record needs a key of its own, and --type object_number=text tells such keys apart',
  )
  assert.match(
    await refused('{"a":1,"b":2.0}\n{"a":1,"b":2}\n', ['a', 'b'], 'two.ndjson'),
    /^line 2: the key \("a", "b"\) has 1, 2 after 1, 2\.0 on line 1, which are equal numbers.* --type b=text /,
  )
  const types = new Map([['id', 'text'] as const])
  for (const [file, text] of [
    ['text.csv', 'id,n\n1998.1,1\n1998.10,2\n'],
    ['text.ndjson', '{"id":1998.1,"n":1}\n{"id":1998.10,"n":2}\n'],
  ] as const) {
    await importText(service, text, { entity: 'thing', key: 'id', file, types })
    const quote = file.endsWith('csv') ? '"' : ''
    const second = `{"id":${quote}1998.10${quote},"n":2}`
    assert.equal(await bodyOf(service, `${queryPath}/thing/1998.10`), second)
    assert.equal(await asked(service, ['=', 'id', '1998.10']), `[${second}]`)
    assert.equal(
      await asked(service, ['extract', ['id', ['function', 'count']], ['group_by', 'id']]),
      `[{"id":${quote}1998.1${quote},"count":1},{"id":${quote}1998.10${quote},"count":1}]`,
    )
    assert.equal(
      await asked(service, ['in', 'id', ['from', 'thing', ['extract', 'id', ['=', 'n', 2]], ['limit', 1]]]),
      `[${second}]`,
    )
    const { replaced, unchanged } = await changeText(service, text.replace(/\b2\b(?=\D*$)/, '3'), {
      entity: 'thing',
      kind: 'update',
      file,
    })
    assert.deepEqual([replaced, unchanged], [1, 1], file)
  }
})

test('D12 a record that differs in digits alone is changed by an update', async t => {
  const service = await withThings(t)
  const change = (text: string) => changeText(service, text, { entity: 'thing', kind: 'update' })
  const same = await change(`${lines[0]}\n${lines[3]}\n`)
  assert.deepEqual([same.replaced, same.unchanged], [0, 2])
  const sixth = '{"id":6,"n":1.100,"j":2.5,"m":[2.500]}'
  const changed = await change(`${lines[1]}\n${sixth}\n{"id":7.0,"n":1998.100}\n`)
  assert.deepEqual([changed.replaced, changed.inserted, changed.unchanged], [1, 1, 1])
  assert.equal(
    await bodyOf(service, listPath('thing', { offset: 4 })),
    `[${lines[4]},${sixth},{"id":7.0,"n":1998.100}]`,
  )
  assert.equal(
    await asked(service, ['extract', 'id', ['=', 'n', 1998.1]]),
    '[{"id":1},{"id":2.0},{"id":7.0}]',
  )
  await assert.rejects(
    change('{"id":8,"n":1}\n{"id":8.0,"n":2}\n'),
    /line 2: the key 8\.0 equals 8 on line 1, as a number/,
  )
})

test('R5 R4 single records keep the digits of numbers, and compare by value', async t => {
  const service = await withThings(t)
  await service.addEperson('ruth@example.org')
  await service.storage.entities.changeWriteRule('thing', 'eperson', commandEvent('entity.writers'))
  const ruth = await service.loggedIn('ruth@example.org')
  const send = async (method: string, key: string, body: string, type = 'application/json') => {
    const answer = await ruth.request(recordPath('thing', key), {
      method,
      headers: { 'content-type': type },
      body,
    })
    const text = await answer.text()
    assert.ok(answer.ok, text)
    return { text, tag: answer.headers.get('etag') }
  }
  const merge = 'application/merge-patch+json'
  // The value of the key names the record. The key is stored as it was written.
  await send('PUT', '7.0', '{"n":1998.100,"j":{"x":[1.0]}}')
  const seventh = '{"n":1998.100,"j":{"x":[1.0]},"id":7.0}'
  assert.equal(await bodyOf(service, `${queryPath}/thing/7`), seventh)
  assert.equal(
    await asked(service, ['extract', 'id', ['=', 'n', 1998.1]]),
    '[{"id":1},{"id":2.0},{"id":7.0}]',
  )
  const before = await send('PATCH', '7', '{}', merge)
  assert.equal(before.text, seventh)
  const after = await send('PATCH', '7', '{"n":1998.1,"m":1e2}', merge)
  assert.equal(after.text, '{"n":1998.1,"j":{"x":[1.0]},"id":7.0,"m":1e2}')
  const again = await send('PATCH', '7', '{"n":1998.10}', merge)
  assert.equal(again.text, '{"n":1998.10,"j":{"x":[1.0]},"id":7.0,"m":1e2}')
  assert.equal(new Set([before.tag, after.tag, again.tag]).size, 3)
  const patch = `[{"op":"test","path":"/n","value":1998.1},{"op":"test","path":"/j","value":{"x":[1]}},
    {"op":"copy","from":"/j/x/0","path":"/j/y"},{"op":"replace","path":"/m","value":-0.0}]`
  const patched = await send('PATCH', '7', patch, 'application/json-patch+json')
  const last = '{"n":1998.10,"j":{"x":[1.0],"y":1.0},"id":7.0,"m":-0.0}'
  assert.equal(patched.text, last)
  assert.equal(await bodyOf(service, listPath('thing')), `[${lines.join()},${last}]`)
  assert.match(
    await bodyOf(service, listPath('thing'), 'text/csv'),
    /\r\n7\.0,1998\.10,"\{""x"":\[1\.0\],""y"":1\.0\}",-0\.0\r\n$/,
  )
  const others = { query: ['extract', ['n', ['function', 'count']], ['group_by', 'n']] }
  assert.match(await bodyOf(service, listPath('thing', others)), /\{"n":1998\.1,"count":3\}/)
})

test('D8 copies of a store have the digits of its numbers', async t => {
  const service = await withThings(t)
  await changeText(service, '{"id":8.0,"n":1.10}', { entity: 'thing', kind: 'update' })
  const before = await bodyOf(service, listPath('thing'))
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  await backUp(service.dataFolder, folder)
  const place = emptyPlace(t, engineIn(t))
  assertDone(await restore(place, folder))
  const restored = await startService(t, { dataFolder: place })
  assert.equal(await bodyOf(restored, listPath('thing')), before)
  assert.match(before, /\{"id":8\.0,"n":1\.10\}\]$/)
})

test('Q28 numbers of a million digits and endless exponents take no longer than other bytes', async t => {
  const service = await startService(t)
  const zeros = '0'.repeat(1_000_000)
  const numbers = [
    `0.${zeros}1`,
    `1${zeros}1`,
    `1.${zeros}`,
    `-1${zeros}`,
    '1e999999',
    '1E-999999',
    '-0.0e0',
    '9007199254740993',
  ]
  const records = numbers.map((number, id) => `{"id":${id},"n":${number},"j":[${number}]}`)
  await importText(service, records.join('\n'), { entity: 'huge', key: 'id' })
  assert.equal(await bodyOf(service, listPath('huge')), `[${records.join()}]`)
  const sorted = JSON.parse(
    await bodyOf(service, listPath('huge', { query: ['extract', 'id'], order_by: [{ field: 'n' }] })),
  ) as { id: number }[]
  assert.deepEqual(
    sorted.map(({ id }) => id),
    [3, 6, 0, 5, 2, 7, 4, 1],
  )
  const instants = [`2020-01-01T00:00:00.${zeros}1Z`, '2020-01-01T00:00:00Z', `2020-01-01T00:00:00.${zeros}Z`]
  await importText(service, instants.map((when, id) => JSON.stringify({ id, when })).join('\n'), {
    entity: 'instants',
    key: 'id',
  })
  assert.equal(
    await bodyOf(service, listPath('instants', { query: ['extract', 'id'], order_by: [{ field: 'when' }] })),
    '[{"id":1},{"id":2},{"id":0}]',
  )
})
