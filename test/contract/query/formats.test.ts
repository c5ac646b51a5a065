import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bodyOf, linksOf, listPath, problemOf, queryPath, readCsv } from '../../support/clients/listings.ts'
import { importText } from '../../support/data/imports.ts'
import { engines } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

const json = 'application/json'
const lines = 'application/x-ndjson'
const csv = 'text/csv'

for (const engine of engines)
  describe(`formats on ${engine}`, () => {
    test('Q8 the answer is of the type that the client likes best', async t => {
      const service = await withThings(t, engine)
      for (const [accept, expected] of [
        [undefined, json],
        ['*/*', json],
        ['application/json', json],
        ['application/*', json],
        ['text/*', csv],
        ['text/csv', csv],
        ['Text/CSV', csv],
        ['application/x-ndjson', lines],
        ['application/json;q=0.1, text/csv;q=0.2, application/x-ndjson;q=0.15', csv],
        ['application/json;q=0.5,application/x-ndjson;q=0.8', lines],
        ['application/x-ndjson; q=0.9, */*; q=0.1', lines],
        ['text/html, application/xhtml+xml, */*;q=0.8', json],
        ['application/json;q=0, */*', lines],
        ['text/csv;q=0.001, image/png', csv],
        ['*/*;q=0.5, application/json;q=0.1, application/x-ndjson;q=0.1', csv],
        ['application/*;q=0.9, application/json;q=0.2', lines],
      ] as const) {
        const response = await service.client().get(listPath('things'), { ...(accept && { accept }) })
        assert.equal(response.status, 200)
        assert.equal(response.headers.get('content-type')?.split(';')[0], expected, String(accept))
        assert.match(response.headers.get('vary') ?? '', /\baccept\b/i)
        await response.arrayBuffer()
      }
    })

    test('Q8 a type that is asked for with its character set is that type', async t => {
      const service = await withThings(t, engine)
      for (const [accept, expected] of [
        ['text/csv; charset=utf-8', csv],
        ['text/csv;charset=UTF-8;q=0.9, application/json;q=0.1', csv],
        ['application/json; charset=utf-8', json],
      ] as const) {
        const response = await service.client().get(listPath('things'), { accept })
        assert.equal(response.status, 200, `${accept}: ${await response.text()}`)
        assert.equal(response.headers.get('content-type')?.split(';')[0], expected, String(accept))
      }
    })

    test('Q8 when nothing is acceptable the answer is a 406 that lists what there is', async t => {
      const service = await withThings(t, engine)
      for (const accept of [
        'text/html',
        'image/*',
        'application/json;q=0',
        '*/*;q=0',
        'application/xml, text/plain',
      ]) {
        const problem = await problemOf(await service.client().get(listPath('things'), { accept }), 406)
        assert.deepEqual(problem.legal, [json, lines, csv])
      }
    })

    test('Q8 a malformed Accept header is no fault of the service', async t => {
      const service = await withThings(t, engine)
      for (const accept of [
        '',
        ',',
        ';',
        'json',
        'application/json;q=abc',
        '/',
        'a/b;q=1;;;',
        '"'.repeat(100),
        'text/csv;q=9',
      ]) {
        const response = await service.client().get(listPath('things'), { accept })
        await response.arrayBuffer()
        assert.ok(response.status < 500, `${response.status} for ${accept}`)
      }
    })

    test('Q8 NDJSON is a record a line, and every line ends', async t => {
      const service = await withThings(t, engine)
      const text = await bodyOf(service, listPath('things', { limit: 2 }), lines)
      assert.equal(
        text,
        '{"id":1,"text":"a \\"b\\", c\\r\\nd","n":1.5,"yes":true,"deep":{"a":[1,"x"]}}\n{"id":2,"text":"","n":null,"yes":null,"deep":null}\n',
      )
      assert.equal(await bodyOf(service, listPath('things', { offset: 9 }), lines), '')
      const many = await bodyOf(service, listPath('many'), lines)
      assert.deepEqual(
        many
          .trimEnd()
          .split('\n')
          .map(line => JSON.parse(line).id),
        Array.from({ length: 3_000 }, (_, id) => id),
      )
    })

    test('Q8 CSV is RFC 4180: a header, CRLF, quotes where they are needed, null and "" told apart', async t => {
      const service = await withThings(t, engine)
      assert.equal(
        await bodyOf(service, listPath('things'), csv),
        [
          'id,text,n,yes,deep',
          '1,"a ""b"", c\r\nd",1.5,true,"{""a"":[1,""x""]}"',
          '2,"",,,',
          '3,\u{1f600}ä,-2,false,[]',
          '',
        ].join('\r\n'),
      )
      const response = await service.client().get(listPath('things'), { accept: csv })
      assert.match(response.headers.get('content-type') ?? '', /^text\/csv; ?charset=utf-8$/)
      await response.arrayBuffer()
    })

    test('Q8 CSV of no records is its header', async t => {
      const service = await withThings(t, engine)
      assert.equal(await bodyOf(service, listPath('things', { offset: 9 }), csv), 'id,text,n,yes,deep\r\n')
      assert.equal(
        await bodyOf(service, listPath('things', { offset: 9, limit: 1 }), csv),
        'id,text,n,yes,deep\r\n',
      )
    })

    test('Q8 the cell of a missing field is empty, whatever the field is called', async t => {
      const service = await startService(t, { engine })
      const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a,b', '"', 'ä\n']
      const full = `{"id":1,${names.map(name => `${JSON.stringify(name)}:"x"`).join(',')}}`
      await importText(service, `${full}\n{"id":2}\n`, { entity: 'odd', key: 'id' })
      const [header, first, second] = readCsv(await bodyOf(service, listPath('odd'), csv))
      assert.deepEqual(
        header?.map(cell => cell.text),
        ['id', ...names],
      )
      assert.deepEqual(
        first?.map(cell => cell.text),
        ['1', ...names.map(() => 'x')],
      )
      assert.deepEqual(
        second?.map(cell => cell.text),
        ['2', ...names.map(() => '')],
      )
    })

    test('Q8 numbers that a double can not hold stand in CSV digit by digit', async t => {
      const service = await startService(t, { engine })
      await importText(service, '{"id":1,"n":12345678901234567890123,"d":{"x":[9007199254740993]}}', {
        entity: 'exact',
        key: 'id',
      })
      assert.equal(
        await bodyOf(service, listPath('exact'), csv),
        'id,n,d\r\n1,12345678901234567890123,"{""x"":[9007199254740993]}"\r\n',
      )
    })

    test('Q8 every type holds the same records, in pages and in whole listings', async t => {
      const service = await withThings(t, engine)
      for (const parameters of [{}, { limit: 5 }, { limit: 500, offset: 250 }, { offset: 2_990 }]) {
        const path = listPath('many', { ...parameters, order_by: [{ field: 'group', order: 'desc' }] })
        const records = JSON.parse(await bodyOf(service, path)) as { id: number; group: number }[]
        const ndjson = (await bodyOf(service, path, lines)).trimEnd().split('\n')
        assert.deepEqual(
          ndjson.map(line => JSON.parse(line)),
          records,
        )
        const [, ...rows] = readCsv(await bodyOf(service, path, csv))
        assert.deepEqual(
          rows.map(([id, group]) => ({ id: Number(id?.text), group: Number(group?.text) })),
          records,
        )
      }
    })

    test('Q8 Q13 the entities that are always there come as NDJSON and CSV, too', async t => {
      const service = await startService(t, { engine })
      const client = await service.addLoggedIn('root@example.org', { admin: true })
      for (const entity of ['epersons', 'groups', 'audit-events']) {
        const records = (await (await client.get(listPath(entity))).json()) as Record<string, unknown>[]
        const ndjson = await (await client.get(listPath(entity), { accept: lines })).text()
        assert.equal(ndjson, records.map(record => `${JSON.stringify(record)}\n`).join(''))
        const [header, ...rows] = readCsv(await (await client.get(listPath(entity), { accept: csv })).text())
        assert.deepEqual(
          header?.map(cell => cell.text),
          Object.keys(records[0] ?? {}),
        )
        assert.deepEqual(
          rows.map(row => row.map(cell => cell.text)),
          records.map(record =>
            Object.values(record).map(value =>
              value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value),
            ),
          ),
        )
      }
    })

    test('Q8 HEAD answers the headers of GET, without a body', async t => {
      const service = await withThings(t, engine)
      const client = await service.addLoggedIn('root@example.org', { admin: true })
      const paths = [
        queryPath,
        listPath('things'),
        listPath('things', { limit: 1, offset: 1, include_total: true }),
        listPath('things', { offset: 99 }),
        listPath('many'),
        listPath('many', { limit: 2_000, include_total: true, order_by: [{ field: 'group' }] }),
        listPath('audit-events', { limit: 2 }),
        listPath('nothing'),
        listPath('things', { limit: 0 }),
      ]
      for (const path of paths)
        for (const accept of [json, csv, 'image/png']) {
          const get = await client.get(path, { accept })
          await get.arrayBuffer()
          const head = await client.request(path, { method: 'HEAD', headers: { accept } })
          assert.equal(head.status, get.status)
          assert.equal(await head.text(), '')
          assert.deepEqual(headersOf(head), headersOf(get), `HEAD ${path} as ${accept}`)
        }
    })

    test('Q8 Q9 HEAD of a page has its total and its links', async t => {
      const service = await withThings(t, engine)
      const path = listPath('many', { limit: 100, include_total: true })
      const response = await service.client().request(path, { method: 'HEAD' })
      assert.equal(response.headers.get('x-records'), '3000')
      assert.deepEqual(Object.keys(linksOf(response)), ['first', 'next', 'last'])
    })
  })

async function withThings(
  t: Parameters<typeof startService>[0],
  engine: (typeof engines)[number],
): Promise<Service> {
  const service = await startService(t, { engine })
  await service.addRecords('things', 'id', [
    { id: 1, text: 'a "b", c\r\nd', n: 1.5, yes: true, deep: { a: [1, 'x'] } },
    { id: 2, text: '', n: null, yes: null, deep: null },
    { id: 3, text: '\u{1f600}ä', n: -2, yes: false, deep: [] },
  ])
  await service.addRecords(
    'many',
    'id',
    Array.from({ length: 3_000 }, (_, id) => ({ id, group: id % 7 })),
  )
  return service
}

/** Returns the headers without those that concern the framing of a missing body, and without the date. */
const headersOf = (response: Response) =>
  [...response.headers].filter(
    ([name]) => !['date', 'x-request-id', 'transfer-encoding', 'connection', 'keep-alive'].includes(name),
  )
