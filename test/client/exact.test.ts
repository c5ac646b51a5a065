import assert from 'node:assert/strict'
import { createClient, type ExactJson } from '../../packages/client/src/index.ts'
import { ruth, startClientWorld } from '../support/clients/carrel-client.ts'
import { startPageWorld, type Window } from '../support/clients/client-pages.ts'
import { addStars } from '../support/data/exact.ts'
import { atEnd } from '../support/service/at-end.ts'
import { test, testOn } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'

/** A record with integers that a JavaScript number can't hold. */
interface Star {
  readonly id: number | bigint
  readonly name: string
  readonly parent: number | bigint | null
  readonly distance: number | bigint
  readonly notes: ExactJson
}

interface Sky {
  readonly stars: Star
  readonly planets: { readonly id: number | bigint; readonly star: number | bigint }
}

const vega = 9_007_199_254_740_993n
const deneb = 9_007_199_254_740_995n

test('CL14 with the option bigint, integers keep all their digits: in pages, lines, single records, and back', async t => {
  const { line, service } = await startClientWorld(t)
  await addStars(service)
  const client = createClient<Sky>(line.address, { bigint: true })
  atEnd(t, () => client.close())
  await client.login(ruth, passwordOf(ruth))
  const entity = client.entity('stars')
  const first: Star = {
    ...{ id: vega, name: 'Vega', parent: null, distance: -9_223_372_036_854_775_807n },
    notes: { seen: [123_456_789_012_345_678n, 7] },
  }
  const second: Star = {
    ...{ id: deneb, name: 'Deneb', parent: vega, distance: 1 },
    notes: { seen: [1000, 0.5] },
  }
  assert.deepEqual(await entity.query({ orderBy: ['id'] }).all(), [first, second])
  const lines: Star[] = []
  for await (const star of entity.query({ orderBy: [['id', 'desc']] })) lines.push(star)
  assert.deepEqual(lines, [second, first])
  // Conditions compare all digits, so a neighbor is not found.
  assert.deepEqual(await entity.query({ where: ['=', 'id', vega] }).all(), [first])
  assert.deepEqual(await entity.query({ where: ['=', 'id', vega - 1n] }).all(), [])
  assert.deepEqual(await entity.query({ where: ['in', 'id', ['array', [deneb, 1]]] }).all(), [second])
  assert.deepEqual(await entity.query({ where: ['>', 'notes.seen[0]', vega] }).all(), [first])
  const [sum] = await entity
    .query({
      select: [
        ['function', 'max', 'id'],
        ['function', 'count'],
      ],
    })
    .all()
  assert.deepEqual(sum, { max: deneb, count: 2 })
  assert.deepEqual(await client.pql(`stars { id = ${deneb} }`).first(), second)
  assert.deepEqual(await client.get(`/api/query/v4/stars/${vega}`), first)

  // The record is found by its key, changed, and written back exactly.
  const { record, etag } = await entity.get(vega)
  assert.deepEqual(record, first)
  const changed = await entity.patch(vega, { distance: 2n ** 60n + 1n }, { ifMatch: etag })
  assert.equal(changed.record.distance, 2n ** 60n + 1n)
  assert.deepEqual((await entity.put(vega, first)).record, first)
  assert.deepEqual(await entity.related(vega, 'planets').all(), [{ id: 9_007_199_254_740_997n, star: vega }])
  const { total } = await entity.query().page({ limit: 1, total: true })
  assert.equal(total, 2, 'counts are numbers')
})

test('CL14 without it, they are the nearest numbers, and a BigInt is sent as it is all the same', async t => {
  const { line, service } = await startClientWorld(t)
  await addStars(service)
  const client = createClient(line.address)
  atEnd(t, () => client.close())
  const found = await client
    .entity('stars')
    .query({ where: ['=', 'id', vega] })
    .all()
  assert.deepEqual(
    found.map(({ id, name }) => [id, name]),
    [[Number(vega), 'Vega']],
  )
  assert.equal(typeof found[0]?.distance, 'number')
})

testOn('sqlite', 'CL14 a browser keeps all digits, too', async t => {
  const { service, open } = await startPageWorld(t)
  await addStars(service)
  const tab = await open()
  const seen = await tab.evaluate(async () => {
    const { carrel } = window as unknown as Window
    const client = carrel.createClient('', { bigint: true })
    const entity = client.entity('stars')
    const read: string[] = []
    for await (const { id, parent, distance } of entity.query({ orderBy: ['id'] }))
      read.push([id, parent, distance].map(one => `${typeof one} ${one}`).join(', '))
    const asked = await entity.query({ where: ['=', 'id', 9007199254740995n] }).all()
    const { record } = await entity.get(9007199254740993n)
    client.close()
    return { read, asked: asked.map(({ name }) => name), found: record.name }
  })
  assert.deepEqual(seen, {
    read: [
      'bigint 9007199254740993, object null, bigint -9223372036854775807',
      'bigint 9007199254740995, bigint 9007199254740993, number 1',
    ],
    asked: ['Deneb'],
    found: 'Vega',
  })
})

testOn('sqlite', 'CL14 an engine that can’t keep digits says so instead of losing them', async t => {
  const { open } = await startPageWorld(t)
  const tab = await open()
  await tab.addInitScript('delete JSON.rawJSON')
  await tab.reload()
  await tab.locator('body[data-ready]').waitFor({ state: 'attached' })
  const said = await tab.evaluate(async () => {
    const { carrel } = window as unknown as Window
    const errors: unknown[] = []
    try {
      carrel.createClient('', { bigint: true })
    } catch (error) {
      errors.push(error)
    }
    const client = carrel.createClient('')
    const where = ['=', 'id', 9007199254740993n] as const
    await client
      .entity('stars')
      .query({ where })
      .all()
      .catch(error => errors.push(error))
    return errors.map(error => String(error))
  })
  assert.match(said[0] ?? '', /^TypeError: This engine has no JSON\.rawJSON/)
  assert.match(said[1] ?? '', /^TypeError: .*BigInt/)
})
