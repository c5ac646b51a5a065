import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { linksOf, list, listPath, problemOf, queryPath } from '../../support/clients/listings.ts'
import { exchange, head } from '../../support/clients/raw.ts'
import { engines } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

const fields = ['id', 'title', 'artist']

for (const engine of engines)
  describe(`wrong queries on ${engine}`, () => {
    test('Q7 a wrong order_by is a 400 that names value, position, legal values and the nearest', async t => {
      const service = await withArtworks(t, engine)
      const cases: readonly [text: string, position: number, more: { legal?: unknown; nearest?: string }][] =
        [
          ['title', 0, {}],
          ['[{"field":"title"}', 18, {}],
          ['[{"field":"title",}]', 18, {}],
          ["[{'field':'title'}]", 2, {}],
          ['[{"field":"title"}] []', 20, {}],
          ['/* */[]', 0, {}],
          ['"title"', 0, {}],
          [' {"field":"title"}', 1, {}],
          ['null', 0, {}],
          ['["title"]', 1, {}],
          ['[{"field":"title"}, null]', 20, {}],
          ['[[]]', 1, {}],
          ['[{}]', 1, { legal: fields }],
          ['[{"order":"asc"}]', 1, { legal: fields }],
          ['[{"field":1}]', 10, { legal: fields }],
          ['[{"field":null}]', 10, { legal: fields }],
          ['[{"field":["title"]}]', 10, { legal: fields }],
          ['[{"field":"titel"}]', 10, { legal: fields, nearest: 'title' }],
          ['[{"field":"Title"}]', 10, { legal: fields, nearest: 'title' }],
          ['[{"field":"title"},{"field":"nothing like it at all"}]', 28, { legal: fields }],
          ['[{"field":"__proto__"}]', 10, { legal: fields }],
          ['[{"field":"title","order":"up"}]', 26, { legal: ['asc', 'desc'] }],
          ['[{"field":"title","order":""}]', 26, { legal: ['asc', 'desc'] }],
          ['[{"field":"title","order":[]}]', 26, { legal: ['asc', 'desc'] }],
          ['[{"field":"title","order":-1}]', 26, { legal: ['asc', 'desc'] }],
          ['[{"field":"title","order":"asc "}]', 26, { legal: ['asc', 'desc'] }],
          ['[{"field":"title","ordr":"asc"}]', 18, { legal: ['field', 'order'], nearest: 'order' }],
          ['[{"field":"title","field":"id"}]', 18, {}],
        ]
      for (const [text, position, { legal, nearest }] of cases) {
        const problem = await problemOf(
          await service.client().get(listPath('artworks', { order_by: text })),
          400,
        )
        assert.deepEqual(
          [problem.parameter, problem.value, problem.position, problem.legal, problem.nearest],
          ['order_by', text, position, legal, nearest],
          text,
        )
        assert.match(problem.detail, /order_by/)
      }
    })

    test('Q7 JSON that is nested deeper than any order is a 400', async t => {
      const service = await withArtworks(t, engine)
      for (const text of [
        '['.repeat(60_000),
        '[{"field":'.repeat(5_000),
        `[{"order":${'['.repeat(50_000)}`,
      ]) {
        const answer = await exchange(
          service.address,
          head(`GET ${queryPath}/artworks?order_by=${text.replaceAll('"', '%22').slice(0, 60_000)} HTTP/1.1`),
        )
        assert.ok(answer, 'there is an answer')
        assert.equal(answer.status, 400, answer.body)
        assert.equal(JSON.parse(answer.body).parameter, 'order_by')
      }
    })

    test('Q7 an order has at most 100 entries, and the message says so', async t => {
      const service = await withArtworks(t, engine)
      const many = (count: number) => Array.from({ length: count }, () => ({ field: 'title' }))
      const answer = await service.client().get(listPath('artworks', { order_by: many(100) }))
      assert.equal(answer.status, 200, await answer.text())
      for (const count of [101, 500]) {
        const path = listPath('artworks', { order_by: many(count) })
        const problem = await problemOf(await service.client().get(path), 400)
        assert.equal(problem.parameter, 'order_by')
        assert.match(problem.detail, /the maximum is 100|more than 100 entries/)
      }
    })

    test('Q7 a wrong limit or offset is a 400 that names the value and the range', async t => {
      const service = await withArtworks(t, engine)
      const both = [
        '-1',
        '1.5',
        'abc',
        '',
        '9007199254740992',
        '1e3',
        '+1',
        ' 1',
        '0x1',
        '9'.repeat(150),
        'null',
        '１',
      ]
      for (const [parameter, least, values] of [
        ['limit', 1, ['0', '00', ...both]],
        ['offset', 0, ['-0', ...both]],
      ] as const)
        for (const value of values) {
          const problem = await problemOf(
            await service.client().get(listPath('artworks', { [parameter]: value })),
            400,
          )
          assert.deepEqual([problem.parameter, problem.value], [parameter, value])
          assert.deepEqual(problem.legal, { least, most: Number.MAX_SAFE_INTEGER })
          assert.match(problem.detail, new RegExp(`${parameter} (is too large|must be .*, ${least} or more)`))
          assert.doesNotMatch(problem.detail, /9007199254740991/)
        }
    })

    test('Q7 a wrong include_total is a 400 that lists true and false', async t => {
      const service = await withArtworks(t, engine)
      for (const value of ['1', '0', 'yes', '', 'truth', 'null']) {
        const problem = await problemOf(
          await service.client().get(listPath('artworks', { include_total: value })),
          400,
        )
        assert.deepEqual([problem.parameter, problem.value], ['include_total', value])
        assert.deepEqual(problem.legal, ['true', 'false'])
      }
    })

    test('Q7 an unknown parameter is a 400 that lists the known ones and the nearest', async t => {
      const service = await withArtworks(t, engine)
      for (const [name, nearest] of [
        ['limt', 'limit'],
        ['Limit', 'limit'],
        ['orderby', 'order_by'],
        ['include-total', 'include_total'],
        ['where', undefined],
        ['', undefined],
        ['__proto__', undefined],
      ] as const) {
        const problem = await problemOf(await service.client().get(`${listPath('artworks')}?${name}=1`), 400)
        assert.deepEqual([problem.parameter, problem.value, problem.nearest], [name, '1', nearest])
        assert.deepEqual(problem.legal, [
          ...['query', 'order_by', 'limit', 'offset', 'include_total'],
          ...['pretty', 'explain', 'timeout', 'snapshot', 'origin'],
        ])
      }
      const none = await problemOf(await service.client().get(`${queryPath}?limit=1`), 400)
      assert.equal(none.parameter, 'limit')
      assert.equal(none.detail, 'The parameter limit means nothing here without the parameter query.')
    })

    test('Q14 the legal values of a wrong constant are values of JSON, as documented', async t => {
      const service = await withArtworks(t, engine)
      const query = JSON.stringify(['null?', 'title', 'no'])
      const problem = await problemOf(await service.client().get(listPath('artworks', { query })), 400)
      assert.deepEqual([problem.pointer, problem.legal], ['/2', [true, false]])
    })

    test('Q7 malformed JSON is explained in words', async t => {
      const service = await withArtworks(t, engine)
      for (const [text, words] of [
        ["[{'field':'title'}]", /character 2: .*double quotes/],
        ['[{"field":"title"}', /character 18: a closing bracket \] is expected/],
        ['[{"field":"title",}]', /character 18: a key in double quotes is expected/],
        ['[{"field" "title"}]', /character 10: a colon is expected/],
        ['[{"field":"title}]', /character 10: a string has no closing quote/],
        ['[{"field":"title"}] []', /character 20: there is text after the end/],
        ['[title]', /character 1: it has text that is not JSON/],
        ['/* */[]', /character 0: comments are not allowed/],
      ] as const) {
        const problem = await problemOf(
          await service.client().get(listPath('artworks', { order_by: text })),
          400,
        )
        assert.match(problem.detail, words, text)
        assert.doesNotMatch(problem.detail, /[a-z][A-Z]|\(/, text)
      }
    })

    test('Q2 Q7 order is asc or desc in any case, and the message says so', async t => {
      const service = await withArtworks(t, engine)
      for (const order of ['DESC', 'Desc', 'desc']) {
        const records = await list(service.client(), 'artworks', { order_by: [{ field: 'id', order }] })
        assert.deepEqual(
          records.map(({ id }) => id),
          [2, 1],
        )
      }
      const wrong = listPath('artworks', { order_by: [{ field: 'id', order: 'down' }] })
      const problem = await problemOf(await service.client().get(wrong), 400)
      assert.match(problem.detail, /entry 1 must be "asc" or "desc", in upper or lower case/)
    })

    test('Q17 a field that is named twice in order_by counts once, and null is no order', async t => {
      const service = await withArtworks(t, engine)
      const order = [{ field: 'title', order: 'desc' }, { field: 'id', order: null }, { field: 'title' }]
      const answer = await service.client().get(listPath('artworks', { order_by: order, limit: 1 }))
      const once = JSON.stringify([{ field: 'title', order: 'desc' }, { field: 'id' }])
      assert.deepEqual(await answer.json(), [{ id: 2, title: 'B', artist: null }])
      assert.match(linksOf(answer).next ?? '', new RegExp(`order_by=${encodeURIComponent(once)}&`))
    })

    test('Q7 a parameter that is given twice is a 400, even with the same value', async t => {
      const service = await withArtworks(t, engine)
      for (const query of [
        'limit=1&limit=2',
        'limit=1&limit=1',
        'offset=0&l%69mit=1&limit=1',
        'order_by=&order_by=',
      ]) {
        const problem = await problemOf(await service.client().get(`${listPath('artworks')}?${query}`), 400)
        assert.equal(problem.parameter, query.startsWith('order_by') ? 'order_by' : 'limit')
      }
    })

    test('Q7 E2 bad percent-encoding in a parameter is a 400', async t => {
      const service = await withArtworks(t, engine)
      for (const query of ['limit=%', 'limit=%zz', 'order_by=%ff', '%c0%80=1', 'order_by=%ed%a0%80'])
        await problemOf(await service.client().get(`${listPath('artworks')}?${query}`), 400)
    })

    test('Q7 a refused value is named but not repeated without end', async t => {
      const service = await withArtworks(t, engine)
      const problem = await problemOf(
        await service.client().get(listPath('artworks', { limit: 'x'.repeat(20_000) })),
        400,
      )
      assert.ok(JSON.stringify(problem).length < 2_000)
    })

    test('Q7 the names in a problem are at most 50, and each has an end', async t => {
      const service = await startService(t, { engine })
      const names = Array.from({ length: 60 }, (_, at) => `${'field'.repeat(15)}_${at}`)
      const [first = '', second = ''] = names
      const long = 'n'.repeat(30_000)
      const record = Object.fromEntries(['id', long, ...names].map(name => [name, 1]))
      await service.addRecords('wide', 'id', [record])
      const get = async (field: string) =>
        problemOf(await service.client().get(listPath('wide', { order_by: [{ field }] })), 400)

      const problem = await get(`${first}x`)
      assert.equal(problem.nearest, first)
      const legal = problem.legal as readonly string[]
      assert.equal(legal.length, 51)
      assert.deepEqual([legal[0], legal[1], legal[50]], ['id', `${long.slice(0, 200)}…`, 'and 12 more'])
      assert.match(problem.detail, /, and 12 more\.$/)
      assert.ok(problem.detail.includes(second) && !problem.detail.includes(names[55] ?? ''))
      // A name with more than 200 characters is not compared, however similar it is.
      for (const field of [long.slice(1), `${'x'.repeat(201)}`])
        assert.equal((await get(field)).nearest, undefined)
    })

    test('Q8 an unknown entity is a 404 that lists what the caller may read, and the nearest', async t => {
      const service = await withArtworks(t, engine)
      await service.addRecords('hidden', 'id', [{ id: 1 }], 'admin')
      const problem = await problemOf(await service.client().get(listPath('artwork')), 404)
      assert.deepEqual(problem.legal, ['items', 'bitstreams', 'artworks'])
      assert.equal(problem.nearest, 'artworks')
      for (const name of ['__proto__', 'constructor', 'Artworks', 'artworks%00', '%F0%9F%8E%89', '..%2f'])
        await problemOf(await service.client().get(listPath(name)), 404)
      await problemOf(await service.client().get(`${listPath('artworks')}/3`), 404)
    })

    test('Q8 an unknown entity with a long name is a 404, too', async t => {
      const service = await withArtworks(t, engine)
      for (const length of [100, 101, 5_000])
        await problemOf(await service.client().get(listPath('a'.repeat(length))), 404)
    })

    test('Q8 Q15 every other method is a 405 that names those that there are', async t => {
      const service = await withArtworks(t, engine)
      for (const [path, methods] of allowed)
        for (const method of ['PUT', 'PATCH', 'DELETE']) {
          if (methods.includes(method)) continue
          const response = await service.client().request(path, { method })
          await problemOf(response, 405)
          assert.equal(response.headers.get('allow'), methods)
        }
    })

    test('Q8 methods that few services know are a 405, too', async t => {
      const service = await withArtworks(t, engine)
      for (const [path, methods] of allowed)
        for (const method of ['OPTIONS', 'TRACE', 'PROPFIND', 'REPORT', 'SEARCH', 'QUERY', 'LOCK', 'LINK']) {
          const answer = await exchange(service.address, head(`${method} ${path} HTTP/1.1`), method)
          assert.equal(answer?.status, 405, `${method} ${path}: ${answer?.body}`)
          assert.equal(answer.headers.get('allow'), methods)
        }
    })
  })

/** The methods of the query endpoints. Several records can be written at the address of an entity (R10). */
const allowed = [
  [queryPath, 'GET, HEAD, POST'],
  [listPath('artworks'), 'GET, HEAD, POST, PATCH, DELETE'],
] as const

async function withArtworks(
  t: Parameters<typeof startService>[0],
  engine: (typeof engines)[number],
): Promise<Service> {
  const service = await startService(t, { engine })
  await service.addRecords('artworks', 'id', [
    { id: 1, title: 'A', artist: 'Ruth' },
    { id: 2, title: 'B', artist: null },
  ])
  return service
}
