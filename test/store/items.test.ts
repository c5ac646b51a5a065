import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { commandEvent } from '../../src/cli/store.ts'
import type { NewBitstream, NewItem } from '../../src/model/items.ts'
import { storeTests } from '../support/service/stores.ts'

/** Declares tests of items, bundles, files, their readers and the site in the store. */
const test = storeTests()

const window = { offset: 0, limit: 10 }
const sha256 = (letter: string) => letter.repeat(64)
const file = (name: string, letter: string, bundle = 'ORIGINAL'): NewBitstream => ({
  name,
  bundle,
  description: null,
  mimeType: 'text/plain',
  readers: null,
  sha256: sha256(letter),
  size: 7,
})
const item = (identifier: string, more: Partial<NewItem> = {}): NewItem => ({
  identifier,
  metadata: { 'dc.title': [{ value: `Title of ${identifier}`, language: null }] },
  collections: ['10673/2'],
  readers: [{ reader: 'group:Readers' }],
  bitstreams: [file('a.txt', 'a'), file('a.txt.jpg', 'b', 'THUMBNAIL')],
  fingerprint: identifier,
  ...more,
})
const event = commandEvent('item.add')
const administrator = { kind: 'administrator' } as const
const reader = { kind: 'reader', eperson: null, groups: new Set(['Readers']) } as const
const nobody = { kind: 'reader', eperson: null, groups: new Set<string>() } as const

test('I1 an item that is put again is the same one, and what differs is changed', async ({ repository }) => {
  const put = (one: NewItem) => repository.putItems([one], event, [])
  assert.deepEqual(await put(item('put/1')), ['added'])
  const uuid = await repository.uuidOf('put/1')
  assert.ok(uuid)
  assert.deepEqual(await put(item('put/1')), ['unchanged'])
  const before = await repository.item(uuid)
  assert.deepEqual(await put(item('put/1', { bitstreams: [file('b.txt', 'c')] })), ['changed'])
  const after = await repository.item(uuid)
  assert.ok(before && after && after.revision > before.revision)
  assert.deepEqual(
    (await repository.bitstreamsOf(uuid)).map(({ name }) => name),
    ['b.txt'],
  )
  assert.deepEqual(await put(item('put/1', { fingerprint: 'other', seen: 'something else' })), ['taken'])
  const known = await repository.knownItems(['put/1', 'put/2', 'put/\0'])
  assert.deepEqual(
    [...known.values()],
    [{ uuid, fingerprint: 'put/1', readers: [{ reader: 'group:Readers' }] }],
  )
  const [listed] = await repository.listItems('put/', 1)
  assert.deepEqual([listed?.identifier, listed?.files, listed?.title], ['put/1', 1, 'Title of put/1'])
})

test('I1 a file that is put again keeps its UUID, and what is hidden or withdrawn stays so', async ({
  repository,
}) => {
  const put = (...bitstreams: readonly NewBitstream[]) =>
    repository.putItems([item('again/1', { bitstreams })], event, [])
  await put(file('a.txt', 'a'), file('b.txt', 'b', 'LICENSE'))
  const uuid = (await repository.uuidOf('again/1')) ?? ''
  const original = { item: uuid, bundle: 'ORIGINAL' }
  const first = await repository.firstIn(original)
  const revision = (await repository.item(uuid))?.revision ?? -1
  const hide = { kind: 'edit-item', item: uuid, revision, hidden: [], discoverable: false } as const
  assert.equal(await repository.change(hide, event), 'changed')
  assert.deepEqual(await put(file('b.txt', 'b', 'LICENSE'), file('a.txt', 'c')), ['changed'])
  const again = await repository.firstIn(original)
  assert.deepEqual([again?.uuid, again?.sha256], [first?.uuid, sha256('c')])
  const bundles = (await repository.bundles(uuid, window)).rows.map(({ name }) => name)
  assert.deepEqual(bundles, ['LICENSE', 'ORIGINAL'])
  assert.equal((await repository.item(uuid))?.discoverable, false)
  const { readers } = (await repository.item(uuid)) ?? assert.fail('it is gone')
  const policies = { kind: 'set-policies', object: uuid, seen: readers, notes: [] } as const
  assert.equal(await repository.change({ ...policies, rules: [{ reader: 'eperson' }] }, event), 'changed')
  assert.deepEqual((await repository.firstIn(original))?.readers, [{ reader: 'eperson', hidden: 'unlisted' }])
})

test('I3 S11 of many changes at once of what all have seen, one is made', async ({ repository }) => {
  const one = async (change: Parameters<typeof repository.change>[0]) => {
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => repository.change(change, event)))
    assert.deepEqual(outcomes.toSorted(), ['changed', ...Array(11).fill('stale')])
  }
  const metadata = { 'dc.title': [{ value: 'At once', language: null }] }
  await repository.putItems([item('at-once/1')], event, [])
  const uuid = (await repository.uuidOf('at-once/1')) ?? ''
  const revision = (await repository.item(uuid))?.revision ?? -1
  await one({ kind: 'edit-item', item: uuid, revision, hidden: [], metadata })
  const site = await repository.storeId()
  await one({ kind: 'edit-site', site, revision: (await repository.site()).revision, metadata })
})

test('I3 files of a bundle are listed in their order for those who may read them', async ({ repository }) => {
  await repository.putItems([item('files/1')], event, [])
  const uuid = (await repository.uuidOf('files/1')) ?? ''
  const original = { item: uuid, bundle: 'ORIGINAL' }
  const seenBy = async (viewer: Parameters<typeof repository.bitstreamsIn>[1]) =>
    (await repository.bitstreamsIn(original, viewer, window)).rows.map(({ name }) => name)
  for (const viewer of [administrator, reader]) assert.deepEqual(await seenBy(viewer), ['a.txt'])
  assert.deepEqual(await repository.bitstreamsIn(original, nobody, window), { rows: [], total: 0 })
  const first = await repository.firstIn(original)
  assert.ok(first)
  assert.equal((await repository.thumbnailOf(first))?.name, 'a.txt.jpg')
  assert.deepEqual(await repository.bitstream(first.uuid), first)
  const bundles = await repository.bundles(uuid, window)
  assert.deepEqual([bundles.rows.map(({ name }) => name), bundles.total], [['ORIGINAL', 'THUMBNAIL'], 2])
  const bundle = await repository.bundleOf(original)
  assert.ok(bundle)
  assert.deepEqual(await repository.bundle(bundle.uuid), bundle)
})

test('I17 readers change for an item with its files or for one file, and a reader of a rule is found by it', async ({
  repository,
  people,
}) => {
  await repository.putItems([item('readers/1')], event, [])
  const uuid = (await repository.uuidOf('readers/1')) ?? ''
  const set = (change: Partial<Parameters<typeof repository.setReaders>[0]>) =>
    repository.setReaders(
      { identifier: 'readers/1', file: null, readers: [], ...change },
      commandEvent('item.access'),
    )
  const toAll = [{ reader: 'anonymous' }] as const
  assert.equal(await set({ readers: toAll }), 'changed')
  assert.equal(await set({ readers: toAll }), 'unchanged')
  assert.equal(await set({ file: { bundle: 'ORIGINAL', name: 'a.txt' }, readers: [] }), 'changed')
  assert.equal(await set({ identifier: 'readers/none' }), undefined)
  assert.deepEqual((await repository.item(uuid))?.readers, toAll)
  assert.deepEqual((await repository.firstIn({ item: uuid, bundle: 'ORIGINAL' }))?.readers, [])
  const audiences = await repository.audiencesWith('anonymous')
  const found = []
  for (const { id } of audiences) found.push(...(await repository.objectsOf('item', id, window)))
  assert.ok(found.includes(uuid))
  assert.equal(await set({ readers: [{ reader: `eperson:${randomUUID()}` }] }), 'no-eperson')
  const person = { email: 'only@example.org', firstName: null, lastName: null, passwordHash: null }
  const added = await people.addEperson({ ...person, administrator: false }, commandEvent('eperson.add'))
  assert.ok(added !== 'exists')
  assert.equal(await set({ readers: [{ reader: `eperson:${added.uuid}` }] }), 'changed')
  assert.equal(await people.deleteEperson('only@example.org', commandEvent('eperson.delete')), 'changed')
  assert.deepEqual((await repository.item(uuid))?.readers, [])
})

test('I5 an item is edited by the revision that was seen, and its bundles and files with it', async ({
  repository,
}) => {
  const uuid = randomUUID()
  const change = (one: Parameters<typeof repository.change>[0]) => repository.change(one, event)
  const metadata = { 'dc.title': [{ value: 'New', language: 'en' }] }
  const made = {
    kind: 'create-item',
    uuid,
    identifier: 'edit/1',
    metadata,
    withdrawn: false,
    discoverable: true,
  } as const
  assert.equal(await change(made), 'changed')
  assert.equal(await change({ ...made, uuid: randomUUID() }), 'taken')
  const revision = (await repository.item(uuid))?.revision ?? -1
  const edit = { kind: 'edit-item', item: uuid, hidden: [], withdrawn: true } as const
  assert.equal(await change({ ...edit, revision: revision + 5 }), 'stale')
  assert.equal(await change({ ...edit, revision }), 'changed')
  assert.equal((await repository.item(uuid))?.withdrawn, true)
  const bundle = randomUUID()
  assert.equal(await change({ kind: 'add-bundle', item: uuid, uuid: bundle, name: 'ORIGINAL' }), 'changed')
  const add = { kind: 'add-bitstream', bundle, description: null, mimeType: 'text/plain', size: 7 } as const
  const names = ['one', 'two', 'three']
  const uuids = names.map(() => randomUUID())
  for (const [at, name] of names.entries())
    assert.equal(
      await change({ ...add, uuid: uuids[at] ?? '', name, sha256: sha256('d'), quota: null }),
      'changed',
    )
  const first = { uuid: randomUUID(), name: 'four', sha256: sha256('d') }
  assert.equal(await change({ ...add, ...first, quota: await repository.bytes() }), 'full')
  assert.equal(await change({ kind: 'order-bitstreams', bundle, moves: [[0, 2]] }), 'changed')
  assert.deepEqual(
    (await repository.bitstreamsOf(uuid)).map(({ name }) => name),
    ['two', 'three', 'one'],
  )
  assert.equal(await change({ kind: 'set-primary', bundle, bitstream: uuids[1] ?? '' }), 'changed')
  assert.equal((await repository.bundle(bundle))?.primary, uuids[1])
  assert.equal(await change({ kind: 'set-primary', bundle, bitstream: null }), 'changed')
  assert.equal((await repository.bundle(bundle))?.primary, null)
  assert.equal(
    await change({ kind: 'edit-bitstream', bitstream: uuids[1] ?? '', description: 'said of it' }),
    'changed',
  )
  const content = {
    sha256: sha256('e'),
    size: 9,
    name: 'two',
    mimeType: 'text/plain',
    quota: null,
    seen: null,
  }
  assert.equal(await change({ kind: 'replace-content', bitstream: uuids[1] ?? '', ...content }), 'changed')
  assert.deepEqual(
    [...(await repository.contentsInUse([sha256('d'), sha256('e'), sha256('f')]))].toSorted(),
    [sha256('d'), sha256('e')],
  )
  assert.deepEqual(await repository.holders(sha256('e')), ['edit/1, ORIGINAL/two'])
  assert.ok((await repository.contents('', 100)).some(one => one.sha256 === sha256('e') && one.size === 9))
  assert.equal(await change({ kind: 'delete-bitstreams', bitstreams: [uuids[0] ?? ''] }), 'changed')
  assert.equal(await change({ kind: 'delete-bundle', bundle }), 'changed')
  assert.equal(await repository.deleteItem('edit/1', commandEvent('item.delete')), true)
  assert.equal(await repository.item(uuid), undefined)
  assert.equal(await change({ kind: 'delete-item', item: uuid, revision: null }), 'gone')
})

test('I17 policies of an item keep what clients say of them', async ({ repository }) => {
  await repository.putItems([item('policies/1')], event, [])
  const object = (await repository.uuidOf('policies/1')) ?? ''
  const seen = (await repository.item(object))?.readers ?? []
  const rules = [{ reader: 'group:Readers', from: '2027-01-01' }] as const
  const note = {
    id: randomUUID(),
    rule: JSON.stringify(rules[0]),
    name: 'later',
    description: null,
    type: null,
  }
  const policies = { kind: 'set-policies', object, rules, notes: [note] } as const
  assert.equal(await repository.change({ ...policies, seen: [] }, event), 'stale')
  assert.equal(await repository.change({ ...policies, seen }, event), 'changed')
  assert.deepEqual(await repository.policyNotes(object), [note])
})

test('S11 the site has metadata, and each change of them another revision', async ({ repository }) => {
  const site = await repository.storeId()
  const metadata = { 'dspace.cms.home-news': [{ value: 'Hello', language: null }] }
  const edit = { kind: 'edit-site', site, metadata } as const
  const { revision } = await repository.site()
  assert.equal(await repository.change({ ...edit, revision }, commandEvent('site.change')), 'changed')
  assert.equal(await repository.change({ ...edit, revision }, commandEvent('site.change')), 'stale')
  assert.deepEqual(await repository.site(), { metadata, revision: revision + 1 })
  assert.equal(await repository.copiedFrom(), null)
  assert.equal(await repository.demo(), 'none')
  await repository.setDemo('begun')
  assert.equal(await repository.demo(), 'begun')
})
