import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import { withoutRequestId } from '../support/clients/answers.ts'
import { printAst } from '../support/data/arbitrary-conditions.ts'
import { type AskedQuery, queries } from '../support/data/arbitrary-queries.ts'
import { importText, ndjson } from '../support/data/imports.ts'
import { asNewItem, type PlannedItem, plannedItems, type Uuids } from '../support/data/policies.ts'
import { ask, assertAnswer, described, worldOf } from '../support/data/query-answers.ts'
import type { KnownRelation, World } from '../support/data/query-oracle.ts'
import { answerOf } from '../support/data/query-oracle-rows.ts'
import { readJson } from '../support/data/raw-json.ts'
import { someViewers, uuidsOf, type Viewer, viewerSettings } from '../support/data/viewers.ts'
import { repeats, runs } from '../support/scale.ts'
import { engines } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'

/**
 * A query must tell each viewer what the oracle makes of the viewer's own lists. The queries are written with
 * knowledge of everything in the store.
 */
for (const engine of engines)
  describe(`what queries tell on ${engine}`, () => {
    test('Q11 Q14 Q19 a query tells each viewer what a plain reading of their own lists tells', async t => {
      const service = await startService(t, { engine, env: settings(viewerSettings(t)) })
      const viewers = await someViewers(service)
      const names = ['items', 'bitstreams', notes, 'epersons', 'groups']
      await fc.assert(
        fc.asyncProperty(plannedItems(15, 25), remarksOn(50), fc.integer(), async (items, remarks, seed) => {
          const { repository } = service.storage
          await repository.putItems(
            items.map(item => complete(item, uuidsOf(viewers))),
            commandEvent('item.add'),
            [],
          )
          const uuid = await repository.uuidOf(items[0]?.identifier ?? '')
          const item = await repository.item(uuid ?? '')
          const dated = remarks.map(one => ({
            ...one,
            at: one.score < 0 ? item?.modified : '2020-06-30T12:00:00Z',
          }))
          await importText(service, ndjson(dated), { entity: notes, key: 'id', read: 'group:A' })
          await relate(service)
          await everyViewer(service, viewers, names, { numRuns: repeats(10, 80), seed })
        }),
        { ...runs(1, 12), unbiased: true, endOnFailure: true },
      )
    })

    test('Q11 B4 Q14 a query tells everybody no more of the audit trail than their own list of it', async t => {
      const service = await startService(t, { engine, env: settings(viewerSettings(t)) })
      // An administrator who acts on behalf of others adds to the trail with each request.
      const viewers = (await someViewers(service)).filter(({ headers }) => !('x-on-behalf-of' in headers))
      for (const { headers } of viewers)
        await fetch(`${service.address}/api/authn/login?user=root@example.org&password=wrong`, {
          method: 'POST',
          headers,
        })
      await everyViewer(service, viewers, ['audit-events', 'epersons', 'groups'], runs(12, 200))
    })
  })

const notes = 'zz-notes'

/** Hides some metadata, because conditions are also about hidden fields. */
const settings = (env: Readonly<Record<string, string>>) => ({
  ...env,
  CARREL_HIDDEN_METADATA: 'dc.description.provenance, dc.contributor.author, dc.date.issued',
})

/** Returns an item with a value in every field. */
const complete = (item: PlannedItem, uuids: Uuids) => {
  const made = asNewItem(item, uuids)
  const files = item.bitstreams.map(({ name }) => name)
  const value = (text: string | null) => ({ value: `${text}`, language: null })
  return {
    ...made,
    collections: files.map(name => `c/${name}`),
    metadata: {
      ...made.metadata,
      'dc.contributor.author': files.map(value),
      'dc.description.provenance': [value(`Made by ${item.title} in ${item.issued}`)],
      'dc.type': [value(item.title)],
      'it\'s "odd".key': [value('\u0001')],
    },
    bitstreams: made.bitstreams.map((file, at) => ({
      ...file,
      size: 10 ** at - 1,
      mimeType: at === 0 ? 'text/plain' : 'application/pdf',
      description: item.issued,
    })),
  }
}

const remarksOn = (items: number) =>
  fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 1, max: 99 }),
      item: fc.integer({ min: 1, max: items }).map(n => `test/${n}`),
      remark: fc.constantFrom('Zebra', 'apple', '1999', null),
      score: fc.integer({ min: -3, max: 3 }),
    }),
    { minLength: 5, maxLength: 20, selector: one => one.id },
  )

const relate = ({ storage }: Service) =>
  storage.entities.describe(
    notes,
    { relate: { fields: ['item'], to: { entity: 'items', fields: ['identifier'] } } },
    commandEvent('entity.relate'),
  )

const relations: readonly KnownRelation[] = [
  { entities: ['bitstreams', 'items'], fields: [['item', 'uuid']] },
  { entities: ['audit-events', 'epersons'], fields: [['eperson', 'uuid']] },
  { entities: [notes, 'items'], fields: [['item', 'identifier']] },
]

async function everyViewer(
  { address }: Service,
  viewers: readonly Viewer[],
  names: readonly string[],
  howOften: ReturnType<typeof runs>,
): Promise<void> {
  const worlds = new Map<Viewer, World>()
  for (const viewer of viewers)
    worlds.set(viewer, await worldOf({ address, headers: viewer.headers }, names, relations))
  const whole = [...worlds].find(([{ who }]) => who.administrator)?.[1]
  assert.ok(whole)
  assert.deepEqual([...whole.entities.keys()].toSorted(), names.toSorted())
  await fc.assert(
    fc.asyncProperty(queries(whole), async query => {
      for (const [viewer, world] of worlds) await check(address, viewer, world, query)
    }),
    { ...howOften, interruptAfterTimeLimit: 60_000 },
  )
}

async function check(address: string, viewer: Viewer, world: World, query: AskedQuery): Promise<void> {
  const asking = { address, headers: viewer.headers }
  const text = printAst(query.ast)
  const what = `${viewer.name}: ${described(query)}`
  const counts = viewer.who.loggedIn
  const answer = await ask(asking, query.entity, text, query.page, counts)
  if (query.entity !== null && !world.entities.has(query.entity)) {
    assert.ok([401, 403].includes(answer.status), `${what}: ${answer.body}`)
    return
  }
  const secret = entitiesIn(text).find(name => !world.entities.has(name))
  if (secret === undefined) {
    assert.equal(answer.status, 200, `${what}: ${answer.body}`)
    assertAnswer(answer, answerOf(world, query.entity, readJson(text), query.page), what, counts)
    return
  }
  // An entity that the viewer may not read must be answered like one that doesn't exist.
  assert.equal(answer.status, 400, `${what}: ${answer.body}`)
  const twins = entitiesIn(text).filter(name => !world.entities.has(name))
  const other = twins.reduce((query, name) => renamed(query, name, twinOf(name)), text)
  const told = await ask(asking, query.entity, other, query.page)
  const same = (body: string) =>
    withoutRequestId(twins.reduce((one, name) => one.replaceAll(twinOf(name), name), body))
  assert.equal(same(told.body), same(answer.body), what)
}

/** Returns the entities that a query names. */
function entitiesIn(text: string): readonly string[] {
  const found = [...text.matchAll(/"(?:from|subquery)","([-\w]+)"|"select_([-\w]+)"|"([-\w]+)\./g)]
  return found
    .map(([, one, other, related]) => one ?? other ?? related ?? '')
    .filter(name => relations.some(({ entities }) => entities.includes(name)) || name === 'groups')
}

const renamed = (text: string, name: string, other: string) =>
  text
    .replaceAll(`"from","${name}"`, `"from","${other}"`)
    .replaceAll(`"subquery","${name}"`, `"subquery","${other}"`)
    .replaceAll(`"select_${name}"`, `"select_${other}"`)
    .replaceAll(`"${name}.`, `"${other}.`)

/** Returns a name that no entity has, and that is as far from all others. */
const twinOf = (name: string) => `${name.slice(0, -1)}q`
