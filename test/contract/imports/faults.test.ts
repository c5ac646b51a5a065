import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { foundIn, type RefusedImport } from '../../../src/import/faults.ts'
import { ImportError } from '../../../src/import/import-error.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { listPath } from '../../support/clients/listings.ts'
import { changeText, importText } from '../../support/data/imports.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

const mixed = [
  '{"id":1,"year":1990}',
  '{"id":2,"year":"soon"}',
  '{"id":3,}',
  '[4]',
  '{"year":5}',
  '{"id":6,"year":1.5}',
  '{"id":7,"year":1991}',
].join('\n')

const wholeOf = (error: unknown) => {
  assert.ok(error instanceof ImportError, String(error))
  return foundIn(error)
}

const placesOf = ({ faults }: RefusedImport['found']) => faults.map(({ line, field }) => [line, field])

const types = new Map([['year', 'integer']] as const)

test('D2 everything that is wrong with a file is named, in its order, with line and field', async t => {
  const service = await startService(t)
  const places = [
    [2, 'year'],
    [3, null],
    [4, null],
    [5, 'id'],
    [6, 'year'],
  ]
  const array = `[\n${mixed.replaceAll('\n', ',\n').replace('[4]', '{"a" 4}')}\n]`
  const csv = 'id,year,data\n1,1990,[1]\n2,soon,\n3\n4,4,[4\n,5,\n6,1.5,\n7,1991,[7]\n'
  for (const [file, text, expected] of [
    ['a.ndjson', mixed, places],
    ['a.ndjson.gz', gzipSync(mixed), places],
    ['a.json', array, places.map(([line, field]) => [Number(line) + 1, field])],
    [
      'a.csv',
      csv,
      [
        [3, 'year'],
        [4, null],
        [5, 'data'],
        [6, 'id'],
        [7, 'year'],
      ],
    ],
  ] as const) {
    const declared = file === 'a.csv' ? new Map([...types, ['data', 'json'] as const]) : types
    const found = await refusal(service, text, { file, types: declared })
    assert.deepEqual([placesOf(found), found.more, found.isCut], [expected, 0, false], file)
  }
  assert.equal((await service.client().get(listPath('thing'))).status, 404)
})

test('D2 D12 keys that are there again are named in the order of the file, and so is what an update can’t have', async t => {
  const service = await startService(t)
  const again = await refusal(service, [3, 1, 3, 2, 1, 3].map(id => `{"id":${id}}`).join('\n'), {})
  assert.deepEqual(
    again.faults.map(({ line, field, message }) => [line, field, message.split(';')[0]]),
    [
      [3, 'id', 'the key "id" has the value 3 again, as on line 1'],
      [5, 'id', 'the key "id" has the value 1 again, as on line 2'],
      [6, 'id', 'the key "id" has the value 3 again, as on line 1'],
    ],
  )
  await importText(service, '{"id":1,"year":1990}', { entity: 'thing', key: 'id' })
  const change = (text: string, file?: string) =>
    changeText(service, text, { entity: 'thing', kind: 'update', ...(file && { file }) }).catch(wholeOf)
  const changes = await change(`${mixed}\n{"id":7}`)
  assert.ok('faults' in changes)
  assert.deepEqual(placesOf(changes), [
    [2, 'year'],
    [3, null],
    [4, null],
    [5, 'id'],
    [6, 'year'],
    [8, null],
  ])
  const rows = await change('id,year\n1,1\n2\nx,3\n', 'changes.csv')
  assert.ok('faults' in rows)
  assert.deepEqual(placesOf(rows), [
    [3, null],
    [4, 'id'],
  ])
})

test('D2 many faults of one kind are one, twenty are named, and the others counted as far as that is cheap', async t => {
  const service = await startService(t)
  const many = (count: number, text: string) => `{"id":1}\n${`${text}\n`.repeat(count)}`
  const some = await refusal(service, many(50, 'nonsense'), {})
  assert.deepEqual(
    some.faults.map(({ line, alike }) => [line, alike]),
    [[2, { count: 49, lines: [3, 4, 5, 6, 7] }]],
  )
  assert.deepEqual([some.more, some.isCut], [0, false])
  // Rare kinds of faults are reported beside a frequent one, and each field counts as a kind of its own.
  const kinds = await refusal(
    service,
    `${many(40, '{"id":7,"year":"soon"}')}[1]\n[2]\n{"id":8,"year":2.5,"month":"may"}\n`,
    { types: new Map([...types, ['month', 'integer']]) },
  )
  assert.deepEqual(
    kinds.faults.map(({ line, field, alike }) => [line, field, alike?.count]),
    [
      [2, 'year', 40],
      [42, null, undefined],
      [43, null, undefined],
      [44, 'month', undefined],
    ],
  )
  const fields = Array.from({ length: 30 }, (_, at) => `f${at}`)
  const wide = await refusal(
    service,
    JSON.stringify({ id: 1, ...Object.fromEntries(fields.map(f => [f, 'x'])) }),
    {
      types: new Map(fields.map(name => [name, 'integer'] as const)),
    },
  )
  assert.deepEqual([wide.faults.length, wide.more], [20, 10])
  for (const [text, file] of [
    [many(300_000, 'nonsense'), 'a.ndjson'],
    [many(300_000, '{"n":1}'), 'a.ndjson'],
    [`id,t\n${'1,2,3\n'.repeat(100_000)}`, 'a.csv'],
  ] as const) {
    const all = await refusal(service, text, { file })
    const [first] = all.faults
    assert.deepEqual(
      [all.faults.length, first?.line, first?.alike, all.more, all.isCut],
      [1, 2, { count: 999, lines: [3, 4, 5, 6, 7] }, 0, true],
      file,
    )
  }
  const doubles = await refusal(service, many(30_000, '{"id":1}'), {})
  assert.deepEqual(
    [doubles.faults.map(({ line, alike }) => [line, alike]), doubles.more, doubles.isCut],
    [[[2, { count: 29_999, lines: [3, 4, 5, 6, 7] }]], 0, false],
  )
  // A name may be as long as a line.
  const long = await refusal(service, `{"id":1,"${'n'.repeat(100_000)}":"x"}`.repeat(1), {
    types: new Map([['n'.repeat(100_000), 'integer']]),
  })
  assert.ok((long.faults[0]?.message.length ?? 0) < 3_000)
})

test('D2 D12 one object around the records is refused with the member that has them', async t => {
  const service = await startService(t)
  const message =
    /^line 1: the file is one object, and its member "data" has the records; .*jq '\.\["data"\]' file\.json/
  const items = Array.from({ length: 100 }, (_, id) => ({ id, names: [{ text: '"[{' }] }))
  const wrapped = [
    JSON.stringify({ data: items }),
    JSON.stringify({ total: 100, _links: { self: [{ href: 'x' }] }, data: items }, null, 2),
    `{"data": [\n${items.map(one => JSON.stringify(one)).join(',\n')}\n], "next": null}\n`,
    '{"data":[{"id":1}]}',
    `{"data":[${`${JSON.stringify({ id: 1, text: 'x'.repeat(1_000) })},`.repeat(17_000)}{}]}`,
  ]
  for (const text of wrapped)
    for (const file of ['a.json', 'a.ndjson']) {
      const { faults } = await refusal(service, text, { file })
      assert.match(`line ${faults[0]?.line}: ${faults[0]?.message}`, message)
    }
  await importText(service, '{"id":1,"data":[{"x":1}]}\n{"data":[{"x":1}],"id":2}', {
    entity: 'thing',
    key: 'id',
  })
  for (const text of wrapped.slice(0, 4)) {
    const refused = await changeText(service, text, { entity: 'thing', kind: 'update' }).catch(wholeOf)
    assert.ok('faults' in refused)
    assert.match(`line 1: ${refused.faults[0]?.message}`, message)
  }
  // Records that contain such lists, without a key.
  const own = await refusal(service, '{"data":[{"x":1}]}\n{"data":[{"x":2}]}\n', {})
  assert.doesNotMatch(own.faults[0]?.message ?? '', /one object/)
})

test('D2 a message shows the beginning of a long name or value, and not all of it', async t => {
  const service = await startService(t)
  const long = 'n'.repeat(4_000_000)
  for (const [text, file, key] of [
    [`${long}\n1\n`, 'a.csv', 'id'],
    [`${long},${long}\n1,2\n`, 'a.csv', 'id'],
    [`id,${long}x\n1,2,3\n`, 'a.csv', long],
    [`{"${long}":1}`, 'a.ndjson', 'id'],
    [`{"id":"${long}"}\n{"id":"${long}"}`, 'a.ndjson', 'id'],
    [`"${long}"`, 'a.ndjson', 'id'],
    [`{"id":1}\n{"id":"${long}"}`, 'a.ndjson', 'id'],
  ] as const) {
    const { faults } = await refusal(service, text, { file, key })
    for (const { message } of faults)
      assert.ok(message.length < 500, `${message.length} ${message.slice(0, 200)}`)
  }
})

test('D2 what ends the reading is named behind what is wrong before it', async t => {
  const service = await startService(t)
  for (const [file, text, lines] of [
    ['a.csv', 'id,t\n1\n2,b\n3\n4,"open\n5,e\n', [2, 4, 5]],
    ['a.json', '[{"id":1},\n{"id":2,},\n{"id":', [2, 3]],
    ['a.json', '[{"id":1},\n{"x"},\n2]', [2, 3]],
    ['a.ndjson', gzipSync(`nonsense\n${'{"id":1}\n'.repeat(100_000)}`).subarray(0, 300), [1, null]],
  ] as const) {
    const found = await refusal(service, text, { file })
    assert.deepEqual(
      found.faults.map(({ line }) => line),
      lines,
      `${file} ${JSON.stringify(found)}`,
    )
  }
})

testOn('sqlite', 'D1 D2 the command prints a line for each fault, and its exit code is 1', async t => {
  const { dataFolder } = await startService(t)
  const words = ['import', '-', '--entity', 'thing', '--key', 'id', '--type', 'year=integer']
  const { code, stderr } = await carrel(dataFolder, words, { input: mixed })
  const lines = stderr.trimEnd().split('\n')
  assert.deepEqual(
    [code, lines.map(line => line.slice(0, 16))],
    [1, ['carrel: line 2: ', 'line 3: not vali', 'line 4: not a JS', 'line 5: the key ', 'line 6: the fiel']],
    stderr,
  )
  const many = await carrel(dataFolder, words, { input: `{"id":1}\n${'nonsense\n'.repeat(25)}` })
  assert.match(
    many.stderr,
    /^carrel: line 2: not valid JSON [^\n]*\(24 more like this, on lines 3, 4, 5, 6, 7, …\)\n$/,
  )
})

test('EA5 EA6 over HTTP the log of the process names everything, and the preview has it as data', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const ndjson = { 'content-type': 'application/x-ndjson' }
  const answer = await root.post('/thing/import?key=id&type=year=integer', mixed, ndjson)
  const process = await root.ended(answer)
  assert.match(process.fault ?? '', /^line 2: the field "year" is declared.* \(the log names more\)$/)
  const log = await (
    await root.client.get(`${new URL(answer.headers.get('location') ?? '').pathname}/log`)
  ).text()
  for (const line of [2, 3, 4, 5, 6]) assert.match(log, new RegExp(`^\\S+ line ${line}: `, 'm'), log)
  const { body } = await root.post('/thing/import?preview=true&key=id&type=year=integer', mixed, ndjson)
  assert.deepEqual(
    body.faults.map(({ line, field }: { line: number; field: string }) => [line, field]),
    [
      [2, 'year'],
      [3, null],
      [4, null],
      [5, 'id'],
      [6, 'year'],
    ],
  )
  assert.deepEqual([body.moreFaults, body.sample.length], [0, 5])
})

const refusal = async (
  service: Service,
  text: string | Uint8Array,
  options: Partial<Parameters<typeof importText>[2]>,
): Promise<RefusedImport['found']> =>
  wholeOf(
    await importText(service, text, { entity: 'thing', key: 'id', ...options }).then(
      () => 'it was imported',
      error => error,
    ),
  )
