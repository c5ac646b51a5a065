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

/** The state of an item in the simplest form. */
interface Model {
  withdrawn: boolean
  discoverable: boolean
  readers: Readers
  writers: Readers
  /** Readers by name of the file; null if it has those of the item. */
  files: Map<string, Readers | null>
}

const rule: fc.Arbitrary<ReaderRule> = fc
  .tuple(
    fc.constantFrom('anonymous', 'eperson', 'eperson:max', 'group:Readers', 'group:Editors'),
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
  [{ reader: 'eperson:max', right: 'write' }],
)
const step = fc.oneof(
  fc.record({ kind: fc.constant('state' as const), withdrawn: fc.boolean(), discoverable: fc.boolean() }),
  fc.record({ kind: fc.constant('policies' as const), rules, writers }),
  fc.record({ kind: fc.constant('file' as const), name: fc.constantFrom('a', 'b'), rules }),
  fc.record({ kind: fc.constant('command' as const), rules }),
  fc.record({ kind: fc.constant('ingest' as const), rules, own: fc.option(rules) }),
  // An eperson is deleted, and another one gets their name.
  fc.record({ kind: fc.constant('deletion' as const) }),
)

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Fixed examples, which every run tries before random ones. */
const examples = (): [readonly Step[]][] => {
  const anybody: Readers = [{ reader: 'anonymous' }]
  const readers: Readers = [{ reader: 'group:Readers' }, { reader: 'group:Editors', from: '2999-01-01' }]
  const editors: Readers = [{ reader: 'group:Editors', right: 'write' }]
  const written = { kind: 'policies', rules: anybody, writers: editors } as const
  const alone: Readers = [{ reader: 'eperson:max' }]
  const ofMax = {
    kind: 'policies',
    rules: alone,
    writers: [{ reader: 'eperson:max', right: 'write' }],
  } as const
  const deletion = { kind: 'deletion' } as const
  const unlisted = { kind: 'state', withdrawn: false, discoverable: false } as const
  const withdrawn = { ...unlisted, withdrawn: true }
  return [
    [[written, unlisted]],
    [[written, withdrawn, { kind: 'command', rules: [{ reader: 'eperson' }] }]],
    [[unlisted, { kind: 'ingest', rules: anybody, own: readers }]],
    [[withdrawn, { kind: 'ingest', rules: readers, own: null }, { ...withdrawn, withdrawn: false }]],
    [[written, { kind: 'file', name: 'a', rules: readers }, { kind: 'command', rules: anybody }]],
    [[ofMax, { kind: 'file', name: 'a', rules: alone }, withdrawn]],
    [[ofMax, { kind: 'file', name: 'a', rules: [...alone, ...readers] }, withdrawn, deletion, unlisted]],
    [[{ kind: 'command', rules: [...anybody, ...alone] }, deletion, { kind: 'command', rules: readers }]],
  ]
}

interface Who {
  readonly client: Client
  /** The name by which rules of the test name the eperson. */
  readonly name: string
  /** The empty string for an anonymous user. */
  uuid: string
  readonly groups: readonly string[]
  readonly isAdmin: boolean
  readonly isLoggedIn: boolean
}

const isFor = ({ name, groups, isLoggedIn }: Who, { reader, from, until }: ReaderRule) =>
  !from &&
  !until &&
  (reader === 'anonymous' ||
    (reader === 'eperson' && isLoggedIn) ||
    reader === `eperson:${name}` ||
    groups.some(group => reader === `group:${group}`))

/** Returns if a caller may read a part of the item, and if lists show it to them. */
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
          for (const one of steps) await apply(service, identifier, stored.uuid, model, one, people)
          for (const who of people) await check(service, who, stored.uuid, model)
        }),
        { ...runs(8, 100), examples: examples(), interruptAfterTimeLimit: 30_000 },
      )
    })
  })

async function everybodyOf(service: Service): Promise<readonly Who[]> {
  const nobody = { name: '', uuid: '', groups: [], isAdmin: false, isLoggedIn: false }
  const people: Who[] = [{ ...nobody, client: service.client() }]
  for (const [name, groups, admin] of [
    ['root', [], true],
    ['ed', ['Editors'], false],
    ['ruth', ['Readers'], false],
    ['max', [], false],
  ] as const) {
    const { uuid } = await service.addEperson(`${name}@example.org`, { admin, groups: [...groups] })
    const client = service.client()
    await client.login(`${name}@example.org`)
    people.push({ client, name, uuid, groups, isAdmin: admin, isLoggedIn: true })
  }
  return people
}

const event = commandEvent('item.change')
const same = (one: Readers, other: Readers) =>
  JSON.stringify(one.map(rule => JSON.stringify(rule)).sort()) ===
  JSON.stringify(other.map(rule => JSON.stringify(rule)).sort())

async function apply(
  service: Service,
  identifier: string,
  uuid: string,
  model: Model,
  change: Step,
  people: readonly Who[],
): Promise<void> {
  const { repository } = service.storage
  /** Replaces names in rules by UUIDs, as the store expects. */
  const named = (rules: Readers): Readers =>
    rules.map(one => {
      const known = people.find(({ name }) => one.reader === `eperson:${name}`)
      return known ? { ...one, reader: `eperson:${known.uuid}` } : one
    })
  const item = await repository.item(uuid)
  assert.ok(item)
  /** Changes the item's readers. Files with the same readers follow. */
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
    const all = named([...change.rules, ...change.writers])
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
      rules: named(change.rules),
      notes: [],
    } as const
    assert.match(await repository.change(set, event), /changed/)
    model.files.set(change.name, change.rules)
  } else if (change.kind === 'command') {
    assert.match(
      (await repository.setReaders({ identifier, file: null, readers: named(change.rules) }, event)) ?? '',
      /changed/,
    )
    giveAll(change.rules)
  } else if (change.kind === 'deletion') {
    const max = people.find(({ name }) => name === 'max')
    assert.ok(max)
    assert.equal(await service.storage.people.removeEperson(max.uuid, event), 'changed')
    assert.deepEqual(await repository.audiencesWith(`eperson:${max.uuid}`), [])
    max.uuid = (await service.addEperson('max@example.org')).uuid
    await max.client.login('max@example.org')
    const others = (rules: Readers) => rules.filter(({ reader }) => reader !== 'eperson:max')
    model.readers = others(model.readers)
    model.writers = others(model.writers)
    for (const [name, own] of model.files) model.files.set(name, own && others(own))
  } else {
    const own = change.own ?? undefined
    const files = [{ name: 'a', ...(own && { readers: named(own) }) }, { name: 'b' }]
    await putItem(service, identifier, named(change.rules), files)
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
