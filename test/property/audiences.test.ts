import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import { listOf } from '../../src/model/plan.ts'
import { listPath } from '../support/clients/listings.ts'
import { storeClient } from '../support/clients/store-client.ts'
import { pageOf, pagePlan } from '../support/data/arbitrary-records.ts'
import { type RawField, type RawRecord, recordText, sorted } from '../support/data/oracle.ts'
import { asNewItem, mayReadBy, type PlannedItem, plannedItems } from '../support/data/policies.ts'
import { someViewers, uuidsOf, type Viewer, viewerSettings } from '../support/data/viewers.ts'
import { runs } from '../support/scale.ts'
import { engines } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'
import { patience } from '../support/service/waiting.ts'

/** The readers of an item or a bitstream in the plan. */
interface Planned {
  readonly readers: PlannedItem['readers']
}

for (const engine of engines)
  describe(`audiences on ${engine}`, () => {
    test('Q11 every list and total of items and bitstreams is what a plain reading of all policies says', async t => {
      const service = await startService(t, { engine, env: viewerSettings(t) })
      const viewers = await someViewers(service)
      const uuids = uuidsOf(viewers)
      const { repository } = service.storage
      /** The current items of the store; each round changes some of them, as ingests do. */
      const inStore = new Map<string, PlannedItem>()
      await fc.assert(
        fc.asyncProperty(
          plannedItems(21, 30),
          fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 5 }),
          fc.array(pagePlan(40), { minLength: 3, maxLength: 3 }),
          async (items, deleted, plans) => {
            for (const number of deleted) {
              const identifier = `test/${number}`
              const removed = await repository.deleteItem(identifier, commandEvent('item.delete'))
              assert.equal(removed, inStore.delete(identifier))
            }
            const outcomes = await repository.putItems(
              items.map(item => asNewItem(item, uuids)),
              commandEvent('item.add'),
              [],
            )
            assert.deepEqual(
              outcomes,
              items.map(item => {
                const before = inStore.get(item.identifier)
                if (!before) return 'added'
                return isSame(before, item) ? 'unchanged' : 'changed'
              }),
            )
            for (const item of items) inStore.set(item.identifier, item)
            for (const viewer of viewers) await checkLists(service, viewer, inStore, plans)
          },
        ),
        { ...runs(2, 12), interruptAfterTimeLimit: patience },
      )
      assert.ok(inStore.size > 20)
    })
  })

/** Returns rules as a set, because their order and duplicates have no meaning. */
const ruleSet = (rules: PlannedItem['readers']) =>
  [...new Set(rules.map(({ reader, from, until }) => JSON.stringify([reader, from, until])))].sort()

function isSame(one: PlannedItem, other: PlannedItem): boolean {
  const plain = ({ readers, bitstreams, ...rest }: PlannedItem) =>
    JSON.stringify([
      rest.title,
      rest.issued,
      ruleSet(readers),
      bitstreams.map(file => [file.name, ruleSet(file.readers ?? readers)]),
    ])
  return plain(one) === plain(other)
}

async function checkLists(
  service: Service,
  viewer: Viewer,
  inStore: ReadonlyMap<string, PlannedItem>,
  plans: readonly Parameters<typeof pageOf>[0][],
): Promise<void> {
  const fieldsOf = new Map(
    (
      JSON.parse((await ask(service, viewer, '/api/query/v4')).body) as { name: string; fields: RawField[] }[]
    ).map(({ name, fields }) => [name, fields]),
  )
  const planOf: Readonly<Record<string, (record: Record<string, string>) => Planned | undefined>> = {
    items: ({ identifier = '' }) => inStore.get(identifier),
    bitstreams: ({ item = '', name }) => {
      const planned = inStore.get(identifiers.get(item) ?? '')
      const readers = planned?.bitstreams.find(one => one.name === name)?.readers
      return planned && { readers: readers ?? planned.readers }
    },
  }
  const identifiers = new Map<string, string>()
  for (const entity of ['items', 'bitstreams']) {
    const described = fieldsOf.get(entity) ?? []
    const fields = described.map(field => ({ ...field, byText: field.type === 'json' }))
    // An administrator's whole list says which records exist; only the plan says which of them others see.
    const everything = await allRecords(service, entity)
    if (entity === 'items')
      for (const record of everything) identifiers.set(textOf(record, 'uuid'), textOf(record, 'identifier'))
    assert.equal(everything.length, howMany(entity, inStore))
    const visible = everything.filter(record => {
      const planned = planOf[entity]?.(
        Object.fromEntries([...record].map(([name]) => [name, textOf(record, name)])),
      )
      assert.ok(planned, 'every record is one of the plan')
      return mayReadBy(planned.readers, viewer.who)
    })
    // Only administrators see the rules.
    const shown = viewer.who.administrator
      ? visible
      : visible.map(record => new Map([...record, ['readers', 'null']]))
    for (const plan of plans) {
      const page = pageOf(plan, fields)
      const expected = sorted(shown, fields, page.order, 'uuid')
      const from = page.offset ?? 0
      const { order, ...window } = page
      const answer = await ask(
        service,
        viewer,
        listPath(entity, {
          ...(order.length > 0 ? { order_by: order } : {}),
          ...window,
          include_total: true,
        }),
      )
      const what = `${viewer.name}: ${entity} ${JSON.stringify(page)}`
      assert.equal(answer.total, String(visible.length), what)
      const cut = expected.slice(from, page.limit === undefined ? undefined : from + page.limit)
      assert.equal(answer.body, `[${cut.map(recordText).join(',')}]`, what)
    }
  }
}

const howMany = (entity: string, inStore: ReadonlyMap<string, PlannedItem>) =>
  entity === 'items'
    ? inStore.size
    : [...inStore.values()].reduce((sum, { bitstreams }) => sum + bitstreams.length, 0)

const textOf = (record: RawRecord, field: string): string => {
  const value: unknown = JSON.parse(record.get(field) ?? 'null')
  return typeof value === 'string' ? value : ''
}

async function allRecords({ storage }: Service, name: string): Promise<RawRecord[]> {
  const entity = (await storage.entities.all()).get(name)
  assert.ok(entity)
  const page = { order: [], offset: 0, limit: null, total: false }
  const { body } = await storage.entities.list(
    listOf(entity, page),
    { kind: 'administrator' },
    'json',
    storeClient,
  )
  const pieces: Uint8Array[] = []
  if (body instanceof Uint8Array) pieces.push(body)
  else for await (const piece of body) pieces.push(piece.slice())
  const records = JSON.parse(
    `[${pieces
      .map(piece => Buffer.from(piece).toString())
      .filter(Boolean)
      .join(',')}]`,
  )
  return (records as Record<string, unknown>[]).map(
    record => new Map(Object.entries(record).map(([field, value]) => [field, JSON.stringify(value)])),
  )
}

async function ask(service: Service, { headers }: Viewer, path: string) {
  const response = await fetch(service.address + path, { headers })
  const body = await response.text()
  assert.equal(response.status, 200, body)
  return { body, total: response.headers.get('x-records') }
}
