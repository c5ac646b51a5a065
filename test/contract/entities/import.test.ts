import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { commandEvent } from '../../../src/cli/store.ts'
import { type Administrator, administrator } from '../../support/clients/administrator.ts'
import { list } from '../../support/clients/listings.ts'
import { eventsOf } from '../../support/data/events.ts'
import { isLong } from '../../support/scale.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

async function started(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<{ service: Service; root: Administrator }> {
  const service = await startService(t, { env })
  return { service, root: await administrator(service) }
}

const csv = { 'content-type': 'text/csv' }
const ndjson = { 'content-type': 'application/x-ndjson' }
const rows = [
  { id: 1, title: 'One' },
  { id: 2, title: 'Two' },
]
const lines = rows.map(row => JSON.stringify(row)).join('\n')
const table = 'id,title\r\n1,One\r\n2,Two\r\n'

/** In CI, selects every third value, because each import runs as a process of its own. */
const some = <T>(all: readonly T[]): readonly T[] => all.filter((_, at) => isLong || at % 3 === 0)

test('EA5 every format, packed or not, becomes the records that the command makes of it', async t => {
  const { service, root } = await started(t)
  const path = '/books/import?key=id&read=anonymous'
  for (const [body, headers, more] of some([
    [JSON.stringify(rows), { 'content-type': 'application/json; charset=utf-8' }, ''],
    [lines, ndjson, ''],
    [lines, { 'content-type': 'application/json' }, ''],
    [gzipSync(table), { ...csv, 'content-encoding': 'gzip' }, ''],
    [table, { 'content-type': 'TEXT/CSV' }, ''],
    [`\uFEFF${table}`, csv, ''],
    [table, { 'content-type': 'application/octet-stream' }, '&format=csv'],
    [table, { 'content-type': 'application/octet-stream' }, ''],
    [gzipSync(lines), ndjson, '&format=ndjson'],
    [gzipSync(lines), { 'content-type': 'application/gzip' }, ''],
  ] as const)) {
    const process = await root.imports(path + more, body, headers)
    assert.equal(process.state, 'completed', `${process.fault} ${JSON.stringify(headers)}`)
    assert.deepEqual(await list(service.client(), 'books'), rows)
    assert.equal((await root.send('DELETE', '/books')).status, 204)
  }
})

test('EA5 an import answers 202 with its process, which says what was made, and in the audit trail who did it', async t => {
  const { root } = await started(t)
  const answer = await root.post(
    '/books/import?key=id&type=title=json&type=id=text&collation=id=sv&read=eperson',
    'id,title\n1,"[1]"\n2,\n',
    csv,
  )
  assert.equal(answer.status, 202)
  assert.match(
    answer.headers.get('location') ?? '',
    /^http:\/\/repo\.example\.edu\/api\/system\/processes\/\d+$/,
  )
  assert.deepEqual(
    [answer.body.scriptName, answer.body.type, answer.body._links.self.href],
    ['import', 'process', answer.headers.get('location')],
  )
  const process = await root.ended(answer)
  const { milliseconds, ...result } = process.result ?? {}
  assert.equal(typeof milliseconds, 'number')
  assert.deepEqual(result, {
    ...{ entity: 'books', key: 'id', read: 'eperson', records: 2, fields: 2 },
    ...{ encoding: 'utf-8', delimiter: ',' },
  })
  assert.deepEqual(process.parameters, {
    ...{ entity: 'books', mode: 'replace', file: 'the body', bytes: '20' },
    ...{ key: 'id', read: 'eperson' },
  })
  const { body } = await root.send('GET', '/books')
  assert.deepEqual(body.fields, [
    { name: 'id', type: 'text', nullable: false, collation: 'sv' },
    { name: 'title', type: 'json', nullable: true },
  ])
  const [event] = await eventsOf(root.client, 'entity.import')
  assert.deepEqual(
    [event?.actor, event?.object, event?.client_ip, event?.outcome],
    [root.uuid, 'books', '127.0.0.1', 'success'],
  )
})

test('EA5 mode=update and mode=delete change some records, with the key and the rule that there are', async t => {
  const { service, root } = await started(t)
  await root.imports('/books/import?key=id&read=anonymous', lines, ndjson)
  const update = await root.imports(
    '/books/import?mode=update',
    '{"id":2,"title":"Zwei"}\n{"id":3,"title":"Three"}',
    ndjson,
  )
  assert.equal(update.state, 'completed', update.fault ?? '')
  assert.deepEqual([update.result?.inserted, update.result?.replaced, update.result?.records], [1, 1, 3])
  const gone = await root.imports('/books/import?mode=delete&key=id', 'id\n1\n9\n', csv)
  assert.deepEqual([gone.result?.deleted, gone.result?.unchanged], [1, 1])
  assert.deepEqual(await list(service.client(), 'books'), [
    { id: 2, title: 'Zwei' },
    { id: 3, title: 'Three' },
  ])
  // A repeated import keeps the key and the rule, too.
  const again = await root.imports('/books/import?replace=true', table, csv)
  assert.equal(again.state, 'completed', again.fault ?? '')
  assert.deepEqual(await list(service.client(), 'books'), rows)
})

test('EA5 records that are wrong change nothing, and the process says which line, in the words of HTTP', async t => {
  const { service, root } = await started(t)
  await root.imports('/books/import?key=id&read=anonymous', lines, ndjson)
  for (const [query, body, headers, fault] of some([
    ['', '{"id":1}\n{"id":2}\n{"id":', ndjson, /^line 3: not valid JSON/],
    ['', '{"id":1}\n{"id":1}', ndjson, /line 2.*line 1|line 1.*line 2/],
    ['', 'id,title\n1,a\n2\n', csv, /^line 3/],
    ['', 'title\na\n', csv, /key field "id"/],
    ['?key=title', '{"id":1}', ndjson, /key field "title"; there are id/],
    [
      '?collation=id=sv',
      lines,
      ndjson,
      /declare it as text with the parameter type, or leave out the parameter collation/,
    ],
    ['?mode=update', '{"id":1,"title":{}}\n{"id":"x"}', ndjson, /another the parameter type|^line/],
    ['', gzipSync(lines).subarray(0, 30), ndjson, /unpacked/],
    ['?format=json', lines, ndjson, /^line 1: unexpected/],
  ] as const)) {
    const process = await root.imports(`/books/import${query}`, body, headers)
    assert.equal(process.state, 'failed', `${query} ${body}`)
    assert.match(process.fault ?? '', fault)
    assert.doesNotMatch(process.fault ?? '', /--/)
  }
  assert.deepEqual(await list(service.client(), 'books'), rows)
})

test('EA5 what can’t be an import is refused before any of its records is read', async t => {
  const { service, root } = await started(t)
  await service.addRecords('books', 'id', rows)
  const wrong: readonly (readonly [path: string, status: number, code: string, parameter?: string])[] = [
    ['/fresh/import', 400, 'bad-parameter', 'key'],
    ['/fresh/import?key=', 400, 'bad-parameter', 'key'],
    ['/fresh/import?key=id,id', 400, 'bad-parameter', 'key'],
    ['/fresh/import?key=id&key=id', 400, 'bad-parameter', 'key'],
    ['/fresh/import?key=id&type=id', 400, 'bad-parameter', 'type'],
    ['/fresh/import?key=id&type=id=int', 400, 'bad-parameter', 'type'],
    ['/fresh/import?key=id&collation=id=xx-nowhere', 400, 'bad-parameter', 'collation'],
    ['/fresh/import?key=id&format=xml', 400, 'bad-parameter', 'format'],
    ['/fresh/import?key=id&mode=upsert', 400, 'bad-parameter', 'mode'],
    ['/fresh/import?key=id&preview=1', 400, 'bad-parameter', 'preview'],
    ['/fresh/import?key=id&read=all', 400, 'bad-parameter', 'read'],
    ['/fresh/import?key=id&read=group:Nobody', 422, 'entity-refused'],
    ['/fresh/import?kye=id', 400, 'bad-parameter', 'kye'],
    ['/fresh/import?key=id&mode=update', 404, 'unknown-entity'],
    ['/books/import?mode=update&type=id=text', 400, 'bad-parameter', 'type'],
    ['/books/import?mode=delete&key=title', 400, 'bad-parameter', 'key'],
    ['/books/import?upload=abc', 400, 'bad-request'],
    ['/items/import?key=id', 409, 'entity-conflict'],
  ]
  for (const [path, status, code, parameter] of wrong) {
    const answer = await root.post(path, lines, ndjson)
    const said = `${path} ${JSON.stringify(answer.body)}`
    assert.deepEqual([answer.status, answer.body.code], [status, code], said)
    if (parameter !== undefined) assert.equal(answer.body.parameter, parameter, said)
  }
  for (const [headers, status] of [
    [{ 'content-type': 'multipart/form-data; boundary=x' }, 415],
    [{ 'content-type': 'application/x-www-form-urlencoded' }, 415],
    [{ 'content-type': 'application/xml' }, 415],
    [{ 'content-type': '__proto__' }, 415],
    [{ ...csv, 'content-encoding': 'br' }, 415],
  ] as const) {
    const answer = await root.post('/fresh/import?key=id', lines, headers)
    assert.equal(answer.status, status, JSON.stringify(answer.body))
  }
  assert.equal((await root.post('/fresh/import?key=id', undefined)).status, 400)
  assert.equal((await root.post('/books/import?upload=abc', undefined)).body.parameter, 'upload')
  assert.equal((await root.send('GET', '/books/import')).status, 405)
  assert.equal((await root.send('GET', '/fresh')).status, 404)
  assert.deepEqual(await list(service.client(), 'books'), rows)
})

test('EA6 a preview shows numbers with all of their digits', async t => {
  const { service, root } = await started(t)
  const number = '12345678901234567890.123456789'
  const pair = await root.client.csrfPair()
  const answer = await root.client.request('/api/admin/entities/books/import?key=id&preview=true', {
    method: 'POST',
    body: `{"id":1,"price":${number}}`,
    headers: { 'content-type': 'application/x-ndjson', 'x-xsrf-token': pair.value },
  })
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  assert.ok(text.includes(`"price":${number}`), text)
  assert.equal((await service.client().get('/api/query/v4/books')).status, 404)
})

test('EA6 a preview reads the whole file, says what it found and what is wrong, and changes nothing', async t => {
  const { service, root } = await started(t)
  const good = await root.post(
    '/books/import?preview=true&key=id',
    `id,title,year\n1,One,1900\n2,,19th\n`,
    csv,
  )
  assert.equal(good.status, 200, JSON.stringify(good.body))
  assert.deepEqual(good.body, {
    entity: 'books',
    format: 'csv',
    encoding: 'utf-8',
    delimiter: ',',
    key: 'id',
    sample: [
      { id: '1', title: 'One', year: '1900' },
      { id: '2', title: '', year: '19th' },
    ],
    records: 2,
    fields: [
      { name: 'id', type: 'integer', nullable: false, nulls: 0 },
      { name: 'title', type: 'text', nullable: true, nulls: 1 },
      {
        ...{ name: 'year', type: 'text', nullable: false, nulls: 0 },
        kinds: [
          { kind: 'integer', count: 1, line: 2, example: '1900' },
          { kind: 'text', count: 1, line: 3, example: '19th' },
        ],
        texts: [{ text: '19th', count: 1, line: 3 }],
        moreTexts: 0,
        offers: [{ empty: ['19th'] }],
      },
    ],
    notes: [],
    faults: [],
    moreFaults: 0,
  })
  const many = Array.from({ length: 500 }, (_, id) => JSON.stringify({ id, n: id / 2 })).join('\n')
  const bad = await root.post('/books/import?preview=true&key=id', `${many}\n{"id":3,`, ndjson)
  assert.equal(bad.body.sample.length, 10)
  assert.equal(bad.body.faults[0].line, 501)
  assert.match(bad.body.faults[0].message, /^not valid JSON/)
  const mixed = await root.post(
    '/books/import?preview=true&key=id',
    '[{"id":1,"x":[1]},\n{"id":2,"x":2}]',
    ndjson,
  )
  assert.deepEqual(mixed.body.faults[0].line, 1, 'an array is no NDJSON')
  const json = await root.post('/books/import?preview=true&key=id', '[{"id":1,"x":[1]},\n{"id":2,"x":2}]', {
    'content-type': 'application/json',
  })
  const { name, type, mix } = json.body.fields[1]
  assert.deepEqual(
    { name, type, mix },
    { name: 'x', type: 'json', mix: { line: 2, kind: 'integer', earlier: { line: 1, kind: 'json' } } },
  )
  const damaged = await root.post('/books/import?preview=true&key=id', gzipSync(lines).subarray(0, 30), csv)
  assert.deepEqual([damaged.status, damaged.body.records, damaged.body.faults[0].line], [200, 0, null])
  assert.match(damaged.body.faults[0].message, /the body is damaged: it can't be unpacked/)
  assert.equal((await root.send('GET', '/books')).status, 404)

  await service.addRecords('books', 'id', rows)
  const changes = await root.post(
    '/books/import?preview=true&mode=update',
    '{"id":2,"title":"Z"}\n{"id":5}',
    ndjson,
  )
  assert.deepEqual(changes.body.changes, { inserted: 1, replaced: 1, deleted: 0, unchanged: 0 })
  const wrong = await root.post('/books/import?preview=true&mode=update', '{"id":2}\n{"id":"x"}', ndjson)
  assert.equal(wrong.body.faults[0].line, 2)
  assert.deepEqual(await list(service.client(), 'books'), rows)
  assert.deepEqual(await eventsOf(root.client, 'entity.update'), [])
})

test('EA7 of two imports of one entity at once, one is refused, also on another node', async t => {
  const { service, root } = await started(t)
  const other = await startService(t, { dataFolder: service.dataFolder })
  const elsewhere = await other.loggedIn('root@example.org')
  const many = Array.from({ length: 60_000 }, (_, id) => JSON.stringify({ id, n: `text ${id}` })).join('\n')
  const begun = await root.post('/books/import?key=id', many, ndjson)
  assert.equal(begun.status, 202)
  for (const [client, path] of [
    [root.client, '/books/import?key=id'],
    [elsewhere, '/books/import?key=id'],
  ] as const) {
    const late = await client.request(`/api/admin/entities${path}`, {
      method: 'POST',
      body: lines,
      headers: { ...ndjson, 'x-xsrf-token': (await client.csrfPair()).value },
    })
    const problem = (await late.json()) as { code: string; process: number }
    assert.deepEqual(
      [late.status, problem.code, problem.process],
      [409, 'entity-conflict', Number(begun.body.processId)],
    )
  }
  // Previews, and imports into other entities, are not blocked.
  assert.equal((await root.post('/books/import?key=id&preview=true', lines, ndjson)).status, 200)
  assert.equal((await root.imports('/others/import?key=id', lines, ndjson)).state, 'completed')
  assert.equal((await root.ended(begun)).state, 'completed')
  assert.equal((await root.imports('/books/import?replace=true', lines, ndjson)).state, 'completed')
})

test('EA7 a body that is too large is refused, whether it says so or not, and leaves nothing', async t => {
  const { service, root } = await started(t, { CARREL_IMPORT_SIZE: '1' })
  const large = `${lines}\n${' '.repeat(1024 * 1024)}`
  const told = await root.post('/books/import?key=id', large, ndjson)
  assert.deepEqual([told.status, told.body.code], [413, 'body-too-large'])
  const untold = new ReadableStream({
    start: controller => {
      for (let n = 0; n < 20; n++) controller.enqueue(new Uint8Array(64 * 1024))
      controller.close()
    },
  })
  const streamed = await root.post('/books/import?key=id', untold, ndjson)
  assert.deepEqual([streamed.status, streamed.body.code], [413, 'body-too-large'])
  assert.deepEqual(readdirSync(service.storage.entities.scratchFolder).filter(isTemporary), [])
  assert.equal((await root.imports('/books/import?key=id', lines, ndjson)).state, 'completed')
})

const isTemporary = (name: string) => /upload|staging|input/.test(name)

test('EA5 values that a spreadsheet takes for formulas come back exactly as they were sent, each in its cell', async t => {
  const { service, root } = await started(t)
  const texts = [
    '=HYPERLINK("http://evil.example","x")',
    '+1+1',
    '-2+3',
    '@SUM(A1)',
    '\tx',
    '\r=1',
    '"=1',
    "'=1",
    'a\n=cmd|x',
    '=1,2',
  ]
  const body = texts.map((text, id) => JSON.stringify({ id, text })).join('\n')
  await root.imports('/formulas/import?key=id&read=anonymous', body, ndjson)
  const response = await service.client().get('/api/query/v4/formulas', { accept: 'text/csv' })
  assert.match(response.headers.get('content-type') ?? '', /^text\/csv/)
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
  const answer = await response.text()
  // Sent back, the records are the same: no value has changed, and no cell has become two.
  const back = await root.imports('/again/import?key=id&read=anonymous&type=text=text', answer, csv)
  assert.equal(back.state, 'completed', back.fault ?? '')
  assert.deepEqual(
    await list(service.client(), 'again'),
    texts.map((text, id) => ({ id, text })),
  )
})

test('EA1 EA5 the command line and HTTP work on the same entities', async t => {
  const { service, root } = await started(t)
  await root.imports('/books/import?key=id', lines, ndjson)
  const done = await carrel(service.dataFolder, ['import', '-', '--entity', 'books', '--update'], {
    input: '{"id":3,"title":"Three"}',
  })
  assert.equal(done.code, 0, done.stderr)
  assert.equal((await root.send('GET', '/books')).body.records, 3)
})

test('EA5 an import that is cancelled changes nothing', async t => {
  const { service, root } = await started(t)
  await service.addRecords('books', 'id', rows)
  const many = Array.from({ length: 1_000_000 }, (_, id) => JSON.stringify({ id, title: `text ${id}` })).join(
    '\n',
  )
  const begun = await root.post('/books/import?replace=true', many, ndjson)
  const event = { ...commandEvent('entity.import'), object: 'books' }
  await service.storage.processes.cancel(Number(begun.body.processId), event)
  assert.equal((await root.ended(begun)).state, 'cancelled')
  assert.deepEqual(await list(service.client(), 'books'), rows)
  assert.equal((await root.imports('/books/import', lines, ndjson)).state, 'completed')
})
