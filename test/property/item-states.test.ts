import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import type { ReaderRule, Readers } from '../../src/model/readers.ts'
import type { Client } from '../support/clients/client.ts'
import { statusOf } from '../support/data/editing.ts'
import { putItem } from '../support/data/repository.ts'
import { runs } from '../support/scale.ts'
import { engines } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'

/** What an item of the test is, in the plainest words. */
interface Model {
  withdrawn: boolean
  discoverable: boolean
  readers: Readers
  writers: Readers
  /** By name; null: it has those of the item. */
  files: Map<string, Readers | null>
}

const rule: fc.Arbitrary<ReaderRule> = fc
  .tuple(
    fc.constantFrom('anonymous', 'eperson', 'group:Readers', 'group:Editors'),
    fc.constantFrom<Omit<ReaderRule, 'reader'>>({}, {}, {}, { from: '2999-01-01' }, { until: '2001-01-01' }),
  )
  .map(([reader, days]) => ({ reader: reader as ReaderRule['reader'], ...days }))
const rules: fc.Arbitrary<Readers> = fc.uniqueArray(rule, {
  maxLength: 3,
  selector: one => JSON.stringify(one),
})
const writers = fc.constantFrom<Readers>(
  [],
  [{ reader: 'group:Editors', right: 'write' }],
  [{ reader: 'group:Readers', right: 'write', until: '2001-01-01' }],
)
const step = fc.oneof(
  fc.record({ kind: fc.constant('state' as const), withdrawn: fc.boolean(), discoverable: fc.boolean() }),
  fc.record({ kind: fc.constant('policies' as const), rules, writers }),
  fc.record({ kind: fc.constant('file' as const), name: fc.constantFrom('a', 'b'), rules }),
  fc.record({ kind: fc.constant('command' as const), rules }),
  fc.record({ kind: fc.constant('ingest' as const), rules, own: fc.option(rules) }),
)

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Fixed examples, which every run tries before anything random. */
const examples = (): [readonly Step[]][] => {
  const anybody: Readers = [{ reader: 'anonymous' }]
  const readers: Readers = [{ reader: 'group:Readers' }, { reader: 'group:Editors', from: '2999-01-01' }]
  const editors: Readers = [{ reader: 'group:Editors', right: 'write' }]
  const written = { kind: 'policies', rules: anybody, writers: editors } as const
  const unlisted = { kind: 'state', withdrawn: false, discoverable: false } as const
  const withdrawn = { ...unlisted, withdrawn: true }
  return [
    [[written, unlisted]],
    [[written, withdrawn, { kind: 'command', rules: [{ reader: 'eperson' }] }]],
    [[unlisted, { kind: 'ingest', rules: anybody, own: readers }]],
    [[withdrawn, { kind: 'ingest', rules: readers, own: null }, { ...withdrawn, withdrawn: false }]],
    [[written, { kind: 'file', name: 'a', rules: readers }, { kind: 'command', rules: anybody }]],
  ]
}

interface Who {
  readonly client: Client
  readonly groups: readonly string[]
  readonly isAdmin: boolean
  readonly isLoggedIn: boolean
}

const isFor = ({ groups, isLoggedIn }: Who, { reader, from, until }: ReaderRule) =>
  !from &&
  !until &&
  (reader === 'anonymous' || (reader === 'eperson' ? isLoggedIn : groups.includes(reader.slice(6))))

/** Whether somebody may read something of the item, and whether lists show it to them. */
function expected(who: Who, item: Model, own: Readers): readonly [reads: boolean, listed: boolean] {
  if (who.isAdmin || item.writers.some(one => isFor(who, one))) return [true, true]
  const reads = !item.withdrawn && own.some(one => isFor(who, one))
  return [reads, reads && item.discoverable]
}

for (const engine of engines)
  describe(`items that are changed on ${engine}`, () => {
    test('I10 I11 I13 whatever is done to items, everybody sees in lists and reads by address what a plain reading says', async t => {
      const service = await startService(t, { engine })
      const people = await everybodyOf(service)
      let number = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps: readonly Step[]) => {
          const identifier = `x/${number++}`
          const stored = await putItem(service, identifier, [], [{ name: 'a' }, { name: 'b' }])
          const model: Model = {
            withdrawn: false,
            discoverable: true,
            readers: [],
            writers: [],
            files: new Map([
              ['a', null],
              ['b', null],
            ]),
          }
          for (const one of steps) await apply(service, identifier, stored.uuid, model, one)
          for (const who of people) await check(service, who, stored.uuid, model)
        }),
        { ...runs(8, 100), examples: examples(), interruptAfterTimeLimit: 30_000 },
      )
    })
  })

async function everybodyOf(service: Service): Promise<readonly Who[]> {
  const people: Who[] = [{ client: service.client(), groups: [], isAdmin: false, isLoggedIn: false }]
  for (const [name, groups, admin] of [
    ['root', [], true],
    ['ed', ['Editors'], false],
    ['ruth', ['Readers'], false],
    ['max', [], false],
  ] as const) {
    await service.addEperson(`${name}@example.org`, { admin, groups: [...groups] })
    const client = service.client()
    await client.login(`${name}@example.org`)
    people.push({ client, groups, isAdmin: admin, isLoggedIn: true })
  }
  return people
}

const event = commandEvent('item.change')
const same = (one: Readers, other: Readers) =>
  JSON.stringify(one.map(rule => JSON.stringify(rule)).sort()) ===
  JSON.stringify(other.map(rule => JSON.stringify(rule)).sort())

async function apply(
  { storage: { repository }, ...place }: Service,
  identifier: string,
  uuid: string,
  model: Model,
  change: Step,
): Promise<void> {
  const item = await repository.item(uuid)
  assert.ok(item)
  /** The item's readers change: files that have the same follow. */
  const giveAll = (rules: Readers) => {
    for (const [name, own] of model.files) if (own && same(own, model.readers)) model.files.set(name, null)
    model.readers = rules
  }
  if (change.kind === 'state') {
    const { withdrawn, discoverable } = change
    const seen = { kind: 'edit-item', item: uuid, revision: item.revision, hidden: [] } as const
    const edit = { ...seen, withdrawn, discoverable }
    assert.match(await repository.change(edit, event), /changed/)
    Object.assign(model, { withdrawn, discoverable })
  } else if (change.kind === 'policies') {
    const all = [...change.rules, ...change.writers]
    const set = { kind: 'set-policies', object: uuid, seen: item.readers, rules: all, notes: [] } as const
    assert.match(await repository.change(set, event), /changed/)
    giveAll(change.rules)
    model.writers = change.writers
  } else if (change.kind === 'file') {
    const file = (await repository.bitstreamsOf(uuid)).find(one => one.name === change.name)
    assert.ok(file)
    const set = {
      kind: 'set-policies',
      object: file.uuid,
      seen: file.readers,
      rules: change.rules,
      notes: [],
    } as const
    assert.match(await repository.change(set, event), /changed/)
    model.files.set(change.name, change.rules)
  } else if (change.kind === 'command') {
    assert.match(
      (await repository.setReaders({ identifier, file: null, readers: change.rules }, event)) ?? '',
      /changed/,
    )
    giveAll(change.rules)
  } else {
    const own = change.own ?? undefined
    const files = [{ name: 'a', ...(own && { readers: own }) }, { name: 'b' }]
    await putItem({ storage: { repository }, ...place } as Service, identifier, change.rules, files)
    model.readers = change.rules
    model.files = new Map([
      ['a', change.own],
      ['b', null],
    ])
  }
}

async function check(service: Service, who: Who, uuid: string, model: Model): Promise<void> {
  const refused = who.isLoggedIn ? 403 : 401
  const listed = async (entity: string, id: string) => {
    const query = encodeURIComponent(JSON.stringify(['=', 'uuid', id]))
    const response = await who.client.get(`/api/query/v4/${entity}?query=${query}&include_total=true`)
    const found = ((await response.json()) as unknown[]).length
    assert.equal(Number(response.headers.get('x-records')), found)
    return found === 1
  }
  const told = JSON.stringify({ ...model, files: [...model.files], groups: who.groups })
  const [reads, isListed] = expected(who, model, model.readers)
  assert.equal(await statusOf(who.client, `/api/core/items/${uuid}`), reads ? 200 : refused, told)
  assert.equal(await listed('items', uuid), isListed, told)
  const files = await service.storage.repository.bitstreamsOf(uuid)
  for (const file of files) {
    const [mayRead, inLists] = expected(who, model, model.files.get(file.name) ?? model.readers)
    const content = `/api/core/bitstreams/${file.uuid}/content`
    assert.equal(await statusOf(who.client, content), mayRead ? 200 : refused, `${file.name} ${told}`)
    assert.equal(await listed('bitstreams', file.uuid), inLists, `${file.name} ${told}`)
  }
}
