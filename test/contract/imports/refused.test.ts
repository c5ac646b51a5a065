import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { ImportError } from '../../../src/import/import-error.ts'
import { bodyOf, listPath, queryPath } from '../../support/clients/listings.ts'
import { books } from '../../support/data/books.ts'
import { csvOf, importText, leftoversIn, ndjson, wide } from '../../support/data/imports.ts'
import { engineIn, test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'

test('D2 an empty file has no key and changes nothing', async t => {
  const service = await startService(t)
  for (const file of ['empty.ndjson', 'empty.csv', 'empty', 'empty.json'])
    for (const text of ['', '\n \n', '\ufeff', gzipSync('')])
      await refuses(service, text, /"id"|empty/, { file })
  await refuses(service, '[]', /"id"|empty/, { file: 'empty.json' })
})

test('D2 a bad line is named by its number and nothing changes', async t => {
  const service = await startService(t)
  const good = '{"id":1,"t":"x"}\n{"id":2,"t":"y"}\n'
  for (const [text, message] of [
    [`${good}{"id":3,"t":`, /^line 3: /],
    [`${good}\n\n{"id":3,}\n{"id":4}\n`, /^line 5: /],
    [`${good}[1,2]\n`, /^line 3: not a JSON object/],
    [`${good}"text"\n`, /^line 3: not a JSON object/],
    [`${good}null\n`, /^line 3: not a JSON object/],
    [`${good}7\n`, /^line 3: not a JSON object/],
    [`${good}{"id":3}{"id":4}\n`, /^line 3: /],
    [`${good}{"t":"no key"}\n`, /^line 3: .*"id" is missing or null/],
    [`${good}{"id":null}\n`, /^line 3: .*"id" is missing or null/],
    [`${good}{"id":3}\n{"id":1}\n`, /^line 4: .*"id".*1.*line 1/],
    [
      Buffer.concat([Buffer.from(`${good}{"id":3,"t":"`), Buffer.from([0xff]), Buffer.from('"}\n')]),
      /^line 3: not UTF-8/,
    ],
    [
      Buffer.concat([
        Buffer.from(`${good}{"id":3,"t":"`),
        Buffer.from([0xed, 0xa0, 0x80]),
        Buffer.from('"}'),
      ]),
      /^line 3: not UTF-8/,
    ],
    ['{"id":1}\n{"id":"1"}\n', /"id" can't be the key/],
    ['{"id":true}\n{"id":false}\n', /"id" can't be the key/],
    ['{"id":{}}\n', /"id" can't be the key/],
    ['{"ID":1}\n', /no record has the key field "id"; there are ID/],
  ] as const)
    await refuses(service, text, message)
})

test('D2 the key of two lines is shown as it was written', async t => {
  const service = await startService(t)
  for (const [value, again] of [
    ['5', '5'],
    ['12345678901234567890', '12345678901234567890'],
    ['9007199254740993', '9007199254740993'],
    ['"a b"', '"a b"'],
    ['0.5', '0.50'],
  ]) {
    const error = await refusal(service, `{"id":${value}}\n{"id":${again}}\n`, {})
    assert.match(error.message, /^line 2: .*line 1/)
    assert.ok(error.message.includes(` ${value} `) || error.message.includes(`"${value}"`), error.message)
  }
})

test('D2 keys that differ beyond the digits of a double are different keys', async t => {
  const service = await startService(t)
  const ids = ['9007199254740992', '9007199254740993', '12345678901234567890', '12345678901234567891']
  await importText(service, ids.map(id => `{"id":${id}}\n`).join(''), { entity: 'exact', key: 'id' })
  assert.equal(await bodyOf(service, listPath('exact')), `[${ids.map(id => `{"id":${id}}`).join(',')}]`)
})

test('D2 a bad place in a JSON array is named by its line and nothing changes', async t => {
  const service = await startService(t)
  for (const [text, message] of [
    ['[\n{"id":1},\n{"id":2}\n', /^line \d: the array does not end/],
    ['[{"id":1},\n{"id":', /^line 2: /],
    ['[\n{"id":1}\n{"id":2}]', /^line 3: /],
    ['[{"id":1},\n]', /^line 2: /],
    ['[,{"id":1}]', /^line 1: /],
    ['[{"id":1},\n2]', /^line 2: /],
    ['[{"id":1},\n\n[]]', /^line 3: /],
    ['[{"id":1}]\nmore', /^line 2: /],
    ['[{"id":1},{"id":2,\n"t":x}]', /^line 1: /],
    ['[\n{"id":1},\n{"t":1}]', /^line 3: .*missing or null/],
    ['[\n{"id":1},\n\n{"id":\n1}]', /^line 4: .*line 2/],
    [
      Buffer.concat([Buffer.from('[{"id":1},\n{"id":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}]')]),
      /^line 2: not UTF-8/,
    ],
  ] as const)
    await refuses(service, text, message, { file: 'bad.json' })
})

test('D2 a bad place in CSV is named by its line and nothing changes', async t => {
  const service = await startService(t)
  for (const [text, message] of [
    ['id,t\n1,a\n2\n', /^line 3: /],
    ['id,t\n1,a\n2,b,c\n', /^line 3: /],
    ['id,t\n1,"a\nb"\n2,"b\n', /^line \d: /],
    ['id,t\n1,a"b\n', /^line 2: /],
    ['id,id\n1,2\n', /^line 1: .*"id"/],
    ['id,\n1,2\n', /^line 1: column 2 has no name/],
    ['id,t\n1,a\n,b\n', /^line 3: .*missing or null/],
    ['id,t\n1,"a\nb"\n2,c\n1,d\n', /^line 5: .*line 2/],
    ['ID,t\n1,a\n', /no record has the key field "id"/],
  ] as const)
    await refuses(service, text, message, { file: 'bad.csv' })
})

test('D2 fields whose names look alike are refused, and the names are shown with what tells them apart', async t => {
  const service = await startService(t)
  const told = /the fields "name" and "((\\u\{a0\}| )name|name(\\u\{(200b|e0041|fe0f|3164)\}| ))" look alike/
  for (const name of [
    ' name',
    'name ',
    '\u00a0name',
    'name\u200b',
    'name\u{e0041}',
    'name\ufe0f',
    'name\u3164',
  ]) {
    await refuses(service, `id,name,${name}\n1,a,b\n`, told, { file: 'alike.csv' })
    await refuses(service, `{"id":1,"name":"a"}\n{"id":2,"${name}":"b"}\n`, told)
  }
  await refuses(
    service,
    '{"id":1,"\u00e9":1}\n{"id":2,"e\u0301":2}\n',
    /line 2: the fields "\\u\{e9\}" and "e\\u\{301\}" look alike/,
  )
  // Joiners tell words of some scripts apart.
  await importText(
    service,
    '{"id":1,"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645":1,"\u0645\u06cc\u062e\u0648\u0627\u0647\u0645":2}',
    { entity: 'words', key: 'id' },
  )
})

test('D2 CSV that is not UTF-8 is refused by its line and nothing changes', async t => {
  const service = await startService(t)
  const text = Buffer.from('id,t\n1,a\n2,gr\xfcn\n', 'latin1')
  await refuses(service, text, /^line 3: not UTF-8/, { file: 'bad.csv' })
})

test('D2 a damaged or cut-off gzip file is refused and nothing changes', async t => {
  const service = await startService(t)
  for (const [file, text] of [
    ['bad.ndjson.gz', ndjson(Array.from({ length: 500 }, (_, id) => ({ id, text: `${id * 7_919}` })))],
    ['bad.csv.gz', csvOf(Array.from({ length: 500 }, (_, id) => ({ id, text: `${id * 7_919}` })))],
    ['bad.json.gz', JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id, text: `${id * 7_919}` })))],
  ] as const) {
    const whole = gzipSync(text)
    await refuses(service, whole.subarray(0, whole.length / 2), /damaged/, { file })
    await refuses(service, whole.subarray(0, -4), /damaged/, { file })
    const damaged = Buffer.from(whole)
    for (let at = 1_000; at < 1_100; at++) damaged[at] = 0x55
    await refuses(service, damaged, /damaged|^line \d+: /, { file })
    await refuses(service, Buffer.from([0x1f, 0x8b]), /damaged/, { file })
  }
})

test('D2 reserved and malformed names of entities are refused', async t => {
  const service = await startService(t)
  for (const entity of ['epersons', 'groups', 'audit-events', 'items', 'bitstreams'])
    await assert.rejects(importText(service, '{"id":1}', { entity, key: 'id' }), ImportError)
  for (const entity of [
    '',
    'A',
    '1a',
    '-a',
    '_a',
    'a b',
    'ä',
    'a/b',
    '../a',
    'a.b',
    'a'.repeat(64),
    '__proto__',
  ])
    await assert.rejects(importText(service, '{"id":1}', { entity, key: 'id' }), ImportError)
  for (const entity of ['a', 'a-b_c9', 'select', 'constructor', 'a'.repeat(63)]) {
    await importText(service, '{"id":1}', { entity, key: 'id' })
    assert.equal(await bodyOf(service, listPath(entity)), '[{"id":1}]')
  }
})

// These imports are refused before they reach a store, so they run on one engine; they take some time.
testOn(
  'sqlite',
  'D2 records of very many different fields are refused by the line, not failed on',
  async t => {
    const service = await startService(t)
    await refuses(
      service,
      `{"id":1}\n${wide(3_000).replace('1', '2')}`,
      /^line 2: more than \d+ different fields/,
    )
  },
)

test('D1 D2 a failing import says why in one line and ends with 1, wrong use with 2', async t => {
  const dataFolder = temporaryFolder(t)
  // The first command on a new store reports it (D6), so the store is created before.
  await carrel(dataFolder, ['group', 'add', 'Readers'])
  const args = (file: string, ...more: string[]) => [
    'import',
    file,
    '--entity',
    'thing',
    '--key',
    'id',
    ...more,
  ]
  const onEveryStore = [
    [args('-'), 1, /line 2: /, '{"id":1}\nnonsense\n'],
    [args('-'), 1, /line 2: /, '{"id":1}\n{"id":1}\n'],
    [args('-', '--read', 'group:Nobody'), 1, /there is no group Nobody/, '{"id":1}'],
  ] as const
  const beforeTheStore = [
    [args('-'), 1, /.+/, ''],
    [args('-'), 1, /damaged/, gzipSync(ndjson(books)).subarray(0, 60)],
    [args('/nothing/here.csv'), 1, /there is no file \/nothing\/here\.csv/, ''],
    [args('/dev/null/here.csv'), 1, /\/dev\/null\/here\.csv can't be opened \(ENOTDIR\)/, ''],
    [args(dataFolder), 1, /is a folder/, ''],
    [
      args('-', '--read', 'everybody'),
      2,
      /--read takes anonymous, eperson, admin, group:<name> or eperson:</,
      '{"id":1}',
    ],
    [args('-', '--read', 'group:'), 2, /--read takes/, '{"id":1}'],
    [args('-', '--nothing'), 2, /--nothing/, '{"id":1}'],
    [['import', '-', '--entity', 'audit-events', '--key', 'id'], 1, /audit-events/, '{"id":1}'],
    [['import', '-', '--entity', 'No Name', '--key', 'id'], 1, /No Name/, '{"id":1}'],
    [['import', '-', '--entity', 'thing'], 2, /--key/, '{"id":1}'],
    [['import', '-', '--key', 'id'], 2, /--entity/, '{"id":1}'],
    [['import', '--entity', 'thing', '--key', 'id'], 2, /file/, ''],
  ] as const
  const cases = engineIn(t) === 'sqlite' ? [...onEveryStore, ...beforeTheStore] : onEveryStore
  for (const [words, code, message, input] of cases) {
    const done = await carrel(dataFolder, words, { input })
    assert.equal(done.code, code, done.stderr)
    assert.equal(done.stdout, '')
    const said = done.stderr.split('\n').filter(line => !/^(reading|sorting|writing) \[/.test(line))
    assert.match(said.join('\n'), /^carrel: [^\n]+\n$/)
    assert.match(said.join('\n'), message)
  }
  const listed = await carrel(dataFolder, ['entity', 'list', '--json'])
  const names = (JSON.parse(listed.stdout) as { name: string }[]).map(entity => entity.name)
  assert.deepEqual(names, ['epersons', 'groups', 'audit-events', 'items', 'bitstreams'])
})

interface BadFile {
  readonly file?: string
}

/** Asserts that the file is refused with a message, and that the records stay unchanged. */
async function refuses(
  service: Service,
  content: string | Uint8Array,
  message: RegExp,
  options: BadFile = {},
): Promise<void> {
  const error = await refusal(service, content, options)
  assert.match(error.message, message)
  assert.ok(!error.message.includes('\n'), 'the message is one line')
}

async function refusal(service: Service, content: string | Uint8Array, { file = 'bad.ndjson' }: BadFile) {
  if ((await service.storage.entities.all()).get('kept') === undefined)
    await service.addRecords('kept', 'key', [{ key: 'old' }])
  const before = await bodyOf(service, queryPath)
  const error = await importText(service, content, { entity: 'kept', key: 'id', file }).then(
    () => assert.fail(`${file} was imported: ${Buffer.from(content).subarray(0, 100).toString()}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ImportError, String(error))
  assert.equal(await bodyOf(service, queryPath), before)
  assert.equal(await bodyOf(service, listPath('kept')), '[{"key":"old"}]')
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
  return error
}
