import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { bodyOf, linksOf, list, listPath, queryPath } from '../../support/clients/listings.ts'
import { importText } from '../../support/data/imports.ts'
import { engines } from '../../support/service/engines.ts'
import { baseUrl, type Service, startService } from '../../support/service/service.ts'

for (const engine of engines)
  describe(`queries on ${engine}`, () => {
    test('Q1 an entity answers with a JSON array of its records as they were imported', async t => {
      const service = await startService(t, { engine })
      const records = [
        { id: 1, title: 'Ruth', tags: ['a', { b: null }], ok: true },
        { id: 2, title: 'Ünïcödé 🎉 "quoted"\n\0', tags: [], ok: null },
      ]
      await service.addRecords('artworks', 'id', records)
      const response = await service.client().get(listPath('artworks'))
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('content-type'), 'application/json')
      assert.deepEqual(await response.json(), records)
    })

    test('Q1 an entity without records answers with an empty array', async t => {
      const service = await startService(t, { engine })
      await importText(service, 'id,title\n', { entity: 'nothing', key: 'id', file: 'nothing.csv' })
      assert.equal(await bodyOf(service, listPath('nothing')), '[]')
      assert.equal(
        await bodyOf(service, listPath('nothing', { limit: 5, order_by: [{ field: 'title' }] })),
        '[]',
      )
    })

    test('Q2 the entries of order_by go from the most to the least significant', async t => {
      const service = await withBooks(t, engine)
      assert.deepEqual(
        await ids(service, { order_by: [{ field: 'genre' }, { field: 'year', order: 'desc' }] }),
        [5, 1, 3, 4, 2],
      )
      assert.deepEqual(
        await ids(service, { order_by: [{ field: 'year', order: 'desc' }, { field: 'genre' }] }),
        [5, 4, 1, 2, 3],
      )
    })

    test('Q2 the order is asc unless it says desc, in any case', async t => {
      const service = await withBooks(t, engine)
      const ascending = await ids(service, { order_by: [{ field: 'title' }] })
      const descending = ascending.toReversed()
      for (const order of ['asc', 'ASC', 'Asc'])
        assert.deepEqual(await ids(service, { order_by: [{ field: 'title', order }] }), ascending)
      for (const order of ['desc', 'DESC', 'dEsC'])
        assert.deepEqual(await ids(service, { order_by: [{ order, field: 'title' }] }), descending)
    })

    test('Q2 every field that the entity returns can be ordered by, whatever its name is', async t => {
      const service = await startService(t, { engine })
      const names = [
        '',
        'a b',
        'select',
        'ä',
        '__proto__',
        'constructor',
        '"',
        "'",
        'a,b',
        '%',
        '\0',
        '1',
        '\ud800',
      ]
      const line = (n: number) =>
        `{"id":${n},${names.map(name => `${JSON.stringify(name)}:${10 - n}`).join(',')}}\n`
      await importText(service, line(1) + line(2) + line(3), { entity: 'odd', key: 'id' })
      for (const field of names) {
        assert.deepEqual(
          await ids(service, { order_by: [{ field }] }, 'odd'),
          [3, 2, 1],
          JSON.stringify(field),
        )
        assert.deepEqual(await ids(service, { order_by: [{ field, order: 'desc' }] }, 'odd'), [1, 2, 3])
      }
    })

    test('Q2 Q17 a field that is named twice counts once, and no field after the key decides anything', async t => {
      const service = await withBooks(t, engine)
      const once = await ids(service, { order_by: [{ field: 'genre', order: 'desc' }] })
      const twice = [{ field: 'genre', order: 'desc' }, { field: 'genre' }]
      assert.deepEqual(await ids(service, { order_by: twice }), once)
      const behindKey = [{ field: 'id', order: 'desc' }, { field: 'title' }]
      assert.deepEqual(await ids(service, { order_by: behindKey }), [5, 4, 3, 2, 1])
    })

    test('Q3 limit is the most records of an answer, without a default and without an upper bound', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('many', 'id', numbered(3_000))
      assert.equal((await ids(service, {}, 'many')).length, 3_000)
      assert.deepEqual(await ids(service, { limit: 1 }, 'many'), [0])
      assert.equal((await ids(service, { limit: 2_999 }, 'many')).length, 2_999)
      assert.equal((await ids(service, { limit: Number.MAX_SAFE_INTEGER }, 'many')).length, 3_000)
      assert.deepEqual(await ids(service, { limit: 100, offset: 2_990 }, 'many'), range(2_990, 3_000))
    })

    test('Q4 offset is where the answer begins, with a limit and without', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('many', 'id', numbered(3_000))
      assert.deepEqual(await ids(service, { offset: 0, limit: 2 }, 'many'), [0, 1])
      assert.deepEqual(await ids(service, { offset: 7, limit: 2 }, 'many'), [7, 8])
      assert.deepEqual(await ids(service, { offset: 10 }, 'many'), range(10, 3_000))
      assert.deepEqual(await ids(service, { offset: 2_999 }, 'many'), [2_999])
    })

    test('Q4 an offset past the end answers with no records', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('many', 'id', numbered(120))
      for (const offset of [120, 121, Number.MAX_SAFE_INTEGER])
        for (const more of [
          {},
          { limit: 10 },
          { limit: Number.MAX_SAFE_INTEGER },
          { order_by: [{ field: 'id' }] },
        ])
          assert.equal(await bodyOf(service, listPath('many', { offset, ...more })), '[]')
    })

    test('Q5 X-Records is the number of records without limit and offset', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('many', 'id', numbered(250))
      for (const window of [{}, { limit: 3 }, { offset: 40 }, { limit: 3, offset: 240 }, { offset: 9_999 }])
        for (const include_total of [true, 'TRUE', 'True']) {
          const response = await service.client().get(listPath('many', { ...window, include_total }))
          assert.equal(response.headers.get('x-records'), '250')
          await response.arrayBuffer()
        }
    })

    test('Q5 X-Records is absent when it was not asked for', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('many', 'id', numbered(250))
      for (const parameters of [
        {},
        { limit: 3 },
        { include_total: false },
        { limit: 3, include_total: 'False' },
      ]) {
        const response = await service.client().get(listPath('many', parameters))
        assert.equal(response.headers.get('x-records'), null)
        await response.arrayBuffer()
      }
    })

    test('Q6 without an order the records come by their key, ascending', async t => {
      const service = await startService(t, { engine })
      await importText(service, '{"n":10}\n{"n":-1}\n{"n":9.5}\n{"n":2}\n', { entity: 'numbers', key: 'n' })
      assert.equal(await bodyOf(service, listPath('numbers')), '[{"n":-1},{"n":2},{"n":9.5},{"n":10}]')
      await importText(service, '{"n":"b"}\n{"n":"B"}\n{"n":"a"}\n{"n":""}\n', { entity: 'texts', key: 'n' })
      assert.equal(await bodyOf(service, listPath('texts')), '[{"n":""},{"n":"B"},{"n":"a"},{"n":"b"}]')
    })

    test('Q6 equal records come by their key ascending, also in a descending order', async t => {
      const service = await startService(t, { engine })
      await service.addRecords(
        'same',
        'id',
        [4, 2, 5, 1, 3].map(id => ({ id, of: 'the same' })),
      )
      for (const order of ['asc', 'desc'])
        assert.deepEqual(await ids(service, { order_by: [{ field: 'of', order }] }, 'same'), [1, 2, 3, 4, 5])
    })

    test('Q6 nulls come last ascending and first descending, a missing field counts as null', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('holes', 'id', [
        { id: 1, n: null },
        { id: 2, n: 7 },
        { id: 3 },
        { id: 4, n: -7 },
        { id: 5, n: 0 },
      ])
      assert.deepEqual(await ids(service, { order_by: [{ field: 'n' }] }, 'holes'), [4, 5, 2, 1, 3])
      assert.deepEqual(
        await ids(service, { order_by: [{ field: 'n', order: 'desc' }] }, 'holes'),
        [1, 3, 2, 5, 4],
      )
    })

    test('Q6 text sorts by Unicode code point, neither by locale nor by UTF-16 unit', async t => {
      const service = await startService(t, { engine })
      const texts = [
        '',
        '\0',
        '\0a',
        'A',
        'Z',
        'a',
        'aa',
        'b',
        'z',
        'ä',
        '\ue000',
        '\uffff',
        '\u{10000}',
        '\u{10ffff}',
      ]
      const shuffled = texts.map((text, n) => ({ id: (n * 5) % texts.length, text }))
      await service.addRecords('texts', 'id', shuffled)
      const ordered = await list<{ text: string }>(service.client(), 'texts', {
        order_by: [{ field: 'text' }],
      })
      assert.deepEqual(
        ordered.map(record => record.text),
        texts,
      )
    })

    test('Q6 false comes before true, and date-times sort by the instant that they name', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('times', 'id', [
        { id: 1, yes: true, at: '2020-01-01T12:00:00Z' },
        { id: 2, yes: false, at: '2020-01-01T13:30:00+02:00' },
        { id: 3, yes: true, at: '2020-01-01T11:59:59.999999999Z' },
        { id: 4, yes: false, at: '2020-01-01T04:00:00.000-08:00' },
        { id: 5, yes: false, at: '2019-12-31T23:00:00-14:00' },
      ])
      assert.deepEqual(await ids(service, { order_by: [{ field: 'yes' }] }, 'times'), [2, 4, 5, 1, 3])
      assert.deepEqual(await ids(service, { order_by: [{ field: 'at' }] }, 'times'), [2, 3, 1, 4, 5])
    })

    test('Q6 date-times at the ends of the calendar sort by the instant that they name', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('times', 'id', [
        { id: 1, at: '9999-12-31T23:59:59-01:00' },
        { id: 2, at: '9999-12-31T23:59:59Z' },
        { id: 3, at: '0000-01-01T00:00:00Z' },
        { id: 4, at: '0000-01-01T00:00:30+01:00' },
        { id: 5, at: '0000-01-01T00:00:10+01:00' },
      ])
      assert.deepEqual(await ids(service, { order_by: [{ field: 'at' }] }, 'times'), [5, 4, 3, 2, 1])
    })

    test('Q6 whole numbers sort by their value where a double holds only their neighbour', async t => {
      const service = await startService(t, { engine })
      const values = [
        ...['-9223372036854775808', '-9007199254740993', '-9007199254740992', '0', '9007199254740992'],
        ...['9007199254740993', '1152921504606846990', '1152921504606847000', '9223372036854775807'],
      ]
      await importNumbers(service, values)
      assert.deepEqual(await numbersOf(service, 'asc'), values)
      assert.deepEqual(await numbersOf(service, 'desc'), values.toReversed())
    })

    test('Q6 numbers of more digits than 64 bits or a double hold sort by their value', async t => {
      const service = await startService(t, { engine })
      const values = [
        ...['-1e400', '-12345678901234567891', '-12345678901234567890', '0.1', '0.1000000000000000001'],
        ...['0.1000000000000000055', '12345678901234567890', '12345678901234567891', '1e400', '1e401'],
      ]
      await importNumbers(service, values)
      assert.deepEqual(await numbersOf(service, 'asc'), values)
      assert.deepEqual(await numbersOf(service, 'desc'), values.toReversed())
    })

    test('Q1 numbers that a double can not hold come back digit by digit', async t => {
      const service = await startService(t, { engine })
      const line = (id: number) =>
        `{"id":${id},"big":12345678901234567890123,"fine":0.1000000000000000055511151231257827,"nested":[{"n":9007199254740993}],"text":"9007199254740993"}`
      await importText(service, `${line(1)}\n${line(2)}\n`, { entity: 'exact', key: 'id' })
      assert.equal(await bodyOf(service, listPath('exact')), `[${line(1)},${line(2)}]`)
      assert.equal(await bodyOf(service, listPath('exact', { limit: 1 })), `[${line(1)}]`)
      assert.equal(
        await bodyOf(service, listPath('exact'), 'application/x-ndjson'),
        `${line(1)}\n${line(2)}\n`,
      )
    })

    test('Q6 R1 values of several kinds sort as jsonb does, imported or written one by one: texts, numbers, booleans, arrays, objects', async t => {
      const service = await startService(t, { engine })
      // In ascending order. Values separated by a space are equal.
      const places = [
        ...['""', '"Z"', '"a"', '-1', '0 -0', '9007199254740993', 'false', 'true', '[]', '["b"]', '[9]'],
        ...['[10] [10.0]', '[null,2]', '["a",[]]', '["a\\u0000",""]', '{}', '{"b":1}', '{"b":[1]}'],
        ...['{"c":1,"aa":2} {"aa":2,"c":1}', '{"d":1,"aa":1}', 'null'],
      ].flatMap((equal, place) => equal.split(' ').map(value => ({ place, value })))
      const line = (id: number) => `{"id":${id},"any":${places[id]?.value}}`
      const all = [...places.keys()]
      const written = all.filter(id => id % 3 === 1)
      const imported = all.filter(id => !written.includes(id)).map(line)
      await importText(service, imported.toReversed().join('\n'), { entity: 'mixed', key: 'id' })
      await service.storage.entities.changeWriteRule('mixed', 'admin', commandEvent('entity.writers'))
      const root = await service.addLoggedIn('root@example.org', { admin: true })
      for (const id of written) {
        const made = await root.put(`${queryPath}/mixed/${id}`, line(id), {
          'content-type': 'application/json',
        })
        assert.equal(made.status, 201, await made.text())
      }
      assert.deepEqual(await ids(service, { order_by: [{ field: 'any' }] }, 'mixed'), all)
      const placeOf = (id: number) => places[id]?.place ?? 0
      assert.deepEqual(
        await ids(service, { order_by: [{ field: 'any', order: 'desc' }] }, 'mixed'),
        all.toSorted((one, other) => placeOf(other) - placeOf(one) || one - other),
      )
      const rows = async (query: unknown) => {
        const address = `${queryPath}/mixed?query=${encodeURIComponent(JSON.stringify(query))}`
        return JSON.parse(await bodyOf(service, address)) as Readonly<Record<string, unknown>>[]
      }
      assert.deepEqual(
        (await rows(['<=', 'any', 0])).map(({ any }) => any),
        [-1, 0, -0],
      )
      assert.equal((await rows(['>', 'any', 0])).length, 1)
      const counted = ['count_distinct', 'min', 'max'].map(name => ['function', name, 'any'])
      const max = Number('9007199254740993')
      assert.deepEqual(await rows(['extract', counted]), [
        { count_distinct: placeOf(all.length - 1), min: -1, max },
      ])
      const groups = await rows(['extract', ['any', ['function', 'count']], ['group_by', 'any']])
      assert.deepEqual(
        groups.map(({ count }) => count),
        Object.values(Object.groupBy(places, ({ place }) => place)).map(equal => equal?.length),
      )
    })

    test('Q7 an empty order_by and an empty array are no order', async t => {
      const service = await withBooks(t, engine)
      for (const order of ['', '[]', '%5B%5D', '%20%5B%0A%5D%09'])
        assert.equal(
          await bodyOf(service, `${listPath('books')}?order_by=${order}`),
          await bodyOf(service, listPath('books')),
        )
    })

    test('Q9 the link next leads through the whole entity, no record missing or double', async t => {
      const service = await startService(t, { engine })
      const records = numbered(257).map(({ id }) => ({ id, group: id % 7 }))
      await service.addRecords('many', 'id', records)
      const expected = records.toSorted((a, b) => b.group - a.group || a.id - b.id)
      for (const limit of [1, 7, 64, 256, 257, 1_000]) {
        const order_by = [{ field: 'group', order: 'desc' }]
        const { records: walked } = await walk(service, listPath('many', { limit, order_by }))
        assert.deepEqual(walked, expected)
      }
    })

    test('Q9 first, prev, next and last are there where they lead somewhere', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('many', 'id', numbered(10))
      const relations = async (parameters: Record<string, number | boolean>) => {
        const response = await service.client().get(listPath('many', parameters))
        await response.arrayBuffer()
        return Object.fromEntries(
          Object.entries(linksOf(response)).map(([relation, path]) => {
            const { snapshot, ...others } = Object.fromEntries(new URL(`${baseUrl}${path}`).searchParams)
            assert.equal(snapshot, response.headers.get('x-snapshot'))
            return [relation, others]
          }),
        )
      }
      const page = (offset: number) => ({ limit: '3', offset: String(offset) })
      assert.deepEqual(await relations({ limit: 3 }), { first: page(0), next: page(3) })
      assert.deepEqual(await relations({ limit: 3, offset: 6 }), {
        first: page(0),
        prev: page(3),
        next: page(9),
      })
      assert.deepEqual(await relations({ limit: 3, offset: 9 }), { first: page(0), prev: page(6) })
      assert.deepEqual(await relations({ limit: 3, offset: 1 }), {
        first: page(0),
        prev: page(0),
        next: page(4),
      })
      const counted = (offset: number) => ({ ...page(offset), include_total: 'true' })
      assert.deepEqual(await relations({ limit: 3, offset: 3, include_total: true }), {
        first: counted(0),
        prev: counted(0),
        next: counted(6),
        last: counted(9),
      })
      assert.deepEqual(await relations({ limit: 5, offset: 5, include_total: true }), {
        first: { ...counted(0), limit: '5' },
        prev: { ...counted(0), limit: '5' },
        last: { ...counted(5), limit: '5' },
      })
      assert.deepEqual(await relations({}), {})
      assert.deepEqual(await relations({ offset: 3, include_total: true }), {})
    })

    test('Q9 prev leads back to the first page, and last is the page behind which nothing comes', async t => {
      const service = await startService(t, { engine })
      await service.addRecords('many', 'id', numbered(100))
      const start = listPath('many', {
        limit: 30,
        include_total: true,
        order_by: [{ field: 'id', order: 'desc' }],
      })
      const forth = await walk(service, start)
      assert.deepEqual(
        forth.records.map(record => record.id),
        range(0, 100).toReversed(),
      )
      const response = await service.client().get(start)
      await response.arrayBuffer()
      const back = await walk(service, linksOf(response).last ?? '', 'prev')
      assert.deepEqual(back.pages.toReversed(), forth.pages)
    })

    test('Q9 the links keep the order, begin with the public address and hold no token', async t => {
      const service = await startService(t, { engine, env: { CARREL_ALLOWED_HOSTS: 'evil.example' } })
      await service.addEperson('ruth@example.org')
      await service.addRecords('many', 'a "name" & more', [
        { 'a "name" & more': 1 },
        { 'a "name" & more': 2 },
      ])
      const client = await service.loggedIn('ruth@example.org')
      const token = await client.shortLivedToken()
      const order_by = [{ field: 'a "name" & more', order: 'DESC' }]
      const path = listPath('many', { order_by, limit: 1, 'authentication-token': token })
      const response = await service.client().get(path, { host: 'evil.example' })
      assert.deepEqual(await response.json(), [{ 'a "name" & more': 2 }])
      assert.ok(!(response.headers.get('link') ?? '').includes(token))
      const next = linksOf(response).next ?? ''
      assert.deepEqual(await (await service.client().get(next)).json(), [{ 'a "name" & more': 1 }])
    })

    test('P2 Q9 the query endpoints live where they are configured, links included', async t => {
      const service = await startService(t, { engine, env: { CARREL_QUERY_BASE: '/pdb/query/v4' } })
      await service.addRecords('many', 'id', numbered(3))
      const response = await service.client().get('/pdb/query/v4/many?limit=2')
      assert.deepEqual(await response.json(), [{ id: 0 }, { id: 1 }])
      assert.deepEqual(await (await service.client().get(linksOf(response).next ?? '')).json(), [{ id: 2 }])
    })

    test('Q12 the root lists each entity with its fields, types and key', async t => {
      const service = await startService(t, { engine })
      await importText(
        service,
        [
          '{"id":1,"n":1,"d":1.5,"b":true,"t":"2020-01-01T00:00:00Z","s":"x","j":[1],"m":1,"e":null}',
          '{"id":2,"n":12345678901234567890,"d":2,"b":false,"t":"2020-01-01T00:00:00.5+01:00","s":"","j":{},"m":"a"}',
          '{"id":3,"n":null,"d":3,"b":true,"t":"2020-01-01T00:00:00Z","s":"x","j":[],"m":true,"late":"2020-01-01"}',
        ].join('\n'),
        { entity: 'things', key: 'id' },
      )
      const field = (name: string, type: string, nullable: boolean) => ({ name, type, nullable })
      const listed = await list(service.client(), '')
      assert.deepEqual(
        listed.map(({ name }) => name),
        ['items', 'bitstreams', 'things'],
      )
      assert.deepEqual(listed.slice(2), [
        {
          name: 'things',
          key: 'id',
          fields: [
            field('id', 'integer', false),
            field('n', 'integer', true),
            field('d', 'number', false),
            field('b', 'boolean', false),
            field('t', 'date-time', false),
            field('s', 'text', false),
            field('j', 'json', false),
            field('m', 'json', false),
            field('e', 'text', true),
            field('late', 'text', true),
          ],
          href: `${baseUrl}${queryPath}/things`,
        },
      ])
    })

    test('Q13 epersons, groups and events are always there', async t => {
      const service = await startService(t, { engine })
      const root = await service.addEperson('root@example.org', { admin: true })
      const ruth = await service.addEperson('Ruth@Example.org', { groups: ['Readers', 'Ägypten'] })
      await service.storage.people.setEnabled('ruth@example.org', false, commandEvent('eperson.disable'))
      const client = await service.loggedIn('root@example.org')

      const [first, second, ...others] = await list(client, 'epersons', { order_by: [{ field: 'email' }] })
      assert.deepEqual(others, [])
      assert.deepEqual(Object.keys(first ?? {}), [
        ...[
          'uuid',
          'email',
          'first_name',
          'last_name',
          'enabled',
          'has_password',
          'groups',
          'created',
          'last_login',
        ],
      ])
      assert.equal(first?.email, 'Ruth@Example.org')
      assert.equal(first.uuid, ruth.uuid)
      assert.deepEqual([first.enabled, first.has_password, first.last_login], [false, true, null])
      assert.deepEqual(first.groups, ['Readers', 'Ägypten'])
      assert.equal(second?.uuid, root.uuid)
      assert.deepEqual([second.enabled, second.groups], [true, ['Administrator']])
      assert.match(String(second.last_login), /^\d{4}-\d\d-\d\dT.*Z$/)

      const groups = await list(client, 'groups', { order_by: [{ field: 'name', order: 'desc' }] })
      assert.deepEqual(
        groups.map(({ name, members }) => [name, members]),
        [
          ['Ägypten', 1],
          ['Readers', 1],
          ['Administrator', 1],
        ],
      )
      const events = await list(client, 'audit-events')
      assert.deepEqual(
        events.map(event => event.id),
        range(1, events.length + 1),
      )
      assert.deepEqual(events.at(-1)?.event, 'login')
      assert.deepEqual(events.at(-1)?.eperson, root.uuid)
    })

    test('Q3 Q4 Q5 Q9 Q13 the entities that are always there are paged like every other', async t => {
      const service = await startService(t, { engine })
      const client = await service.addLoggedIn('root@example.org', { admin: true })
      for (let n = 0; n < 20; n++)
        await service.storage.people.addGroup(`Group ${n}`, commandEvent('group.add'))
      for (const entity of ['epersons', 'groups', 'audit-events']) {
        const all = await list(client, entity)
        assert.deepEqual(await list(client, entity, { limit: Number.MAX_SAFE_INTEGER }), all)
        assert.deepEqual(await list(client, entity, { offset: all.length }), [])
        assert.deepEqual(await list(client, entity, { offset: Number.MAX_SAFE_INTEGER, limit: 1 }), [])
        assert.deepEqual(await list(client, entity, { offset: 1 }), all.slice(1))
        const response = await client.get(listPath(entity, { limit: 4, include_total: true }))
        assert.equal(response.headers.get('x-records'), String(all.length))
        assert.deepEqual(await response.json(), all.slice(0, 4))
        assert.deepEqual((await walk(service, listPath(entity, { limit: 4 }), 'next', client)).records, all)
      }
    })
  })

interface Numbered {
  readonly id: number
}

const range = (from: number, before: number) => Array.from({ length: before - from }, (_, at) => from + at)
const numbered = (count: number): Numbered[] => range(0, count).map(id => ({ id }))

async function withBooks(t: Parameters<typeof startService>[0], engine: (typeof engines)[number]) {
  const service = await startService(t, { engine })
  await service.addRecords('books', 'id', [
    { id: 1, title: 'C', genre: 'a', year: 2001 },
    { id: 2, title: 'A', genre: 'b', year: 2001 },
    { id: 3, title: 'E', genre: 'a', year: 2000 },
    { id: 4, title: 'B', genre: 'b', year: 2002 },
    { id: 5, title: 'D', genre: 'a', year: 2002 },
  ])
  return service
}

async function ids(
  service: Service,
  parameters: Parameters<typeof list>[2],
  entity = 'books',
): Promise<number[]> {
  return (await list<Numbered>(service.client(), entity, parameters)).map(record => record.id)
}

/** Follows the links of one relation from page to page. */
async function walk(
  service: Service,
  start: string,
  relation: 'next' | 'prev' = 'next',
  client: ReturnType<Service['client']> = service.client(),
) {
  const pages: Numbered[][] = []
  for (let path: string | undefined = start; path !== undefined; ) {
    const response: Response = await client.get(path)
    pages.push((await response.json()) as Numbered[])
    path = linksOf(response)[relation]
  }
  return { pages, records: pages.flat() }
}

/** Imports values, given in ascending order, as records whose keys are in no order. */
async function importNumbers(service: Service, values: readonly string[]): Promise<void> {
  const lines = values.map((value, n) => `{"id":${(n * 7) % 101},"n":${value}}`)
  await importText(service, lines.toReversed().join('\n'), { entity: 'numbers', key: 'id' })
}

async function numbersOf(service: Service, order: string): Promise<string[]> {
  const body = await bodyOf(service, listPath('numbers', { order_by: [{ field: 'n', order }] }))
  return [...body.matchAll(/"n":([^}]+)\}/g)].map(([, value = '']) => value)
}
