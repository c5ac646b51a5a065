import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { change, newItem, read, statusOf } from '../../support/data/editing.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env })
  await service.addEperson('root@example.org', { admin: true })
  const ruth = await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  const admin = await service.loggedIn('root@example.org')
  const reader = await service.loggedIn('ruth@example.org')
  const nobody = service.client()
  return { service, admin, reader, nobody, ruth }
}

const value = (text: string, language: string | null = null) => ({ value: text, language })

test('I1 an administrator adds an item, which only administrators see until a policy says more', async t => {
  const { admin, reader, nobody, service } = await started(t)
  // The body that the Python client sends for a new item.
  const added = await change(admin, 'post', '/api/core/items?owningCollection=', {
    id: null,
    uuid: null,
    name: 'On Rivers',
    handle: null,
    metadata: {
      'dc.title': [{ value: 'On Rivers', language: 'en', authority: null, confidence: -1, place: 0 }],
      'dc.contributor.author': [value('Ruth'), value('Max')],
      'dc.date.issued': [value('1912')],
      'dc.type': [value('Book')],
    },
    lastModified: null,
    type: 'item',
    inArchive: false,
    discoverable: true,
    withdrawn: false,
  })
  assert.equal(added.status, 201)
  const path = `/api/core/items/${added.body.uuid}`
  assert.equal(added.headers.get('location'), `http://repo.example.edu${path}`)
  const shown = await read(admin, path)
  assert.deepEqual(shown, added.body)
  assert.equal(shown.name, 'On Rivers')
  assert.deepEqual([await statusOf(reader, path), await statusOf(nobody, path)], [403, 401])
  assert.equal(
    (await read(admin, `/api/pid/find?id=${added.body.uuid}`).catch(() => null)) !== undefined,
    true,
  )
  const [row] = (await (await admin.get('/api/query/v4/items')).json()) as Record<string, unknown>[]
  assert.deepEqual(
    [row?.title, row?.authors, row?.issued, row?.type, row?.withdrawn, row?.discoverable],
    ['On Rivers', ['Ruth', 'Max'], '1912', 'Book', false, true],
  )
  const listed = await service.storage.repository.listItems('', 10)
  assert.deepEqual(
    listed.map(one => [one.identifier, one.title]),
    [[added.body.uuid, 'On Rivers']],
  )
})

/** Patches, with the resulting values of dc.title, which was “One” in English and “Two”. */
const textPatches = [
  [{ op: 'add', path: '/metadata/dc.title', value: 'Text' }, ['Text']],
  [{ op: 'replace', path: '/metadata/dc.title', value: 'Text' }, ['Text']],
  [{ op: 'add', path: '/metadata/dc.title', value: ['Text', 'More'] }, ['Text', 'More']],
  [{ op: 'add', path: '/metadata/dc.title', value: ['Text', { value: 'More' }] }, ['Text', 'More']],
  [{ op: 'add', path: '/metadata/dc.title/-', value: 'Text' }, ['One', 'Two', 'Text']],
  [{ op: 'add', path: '/metadata/dc.title/', value: ['Text'] }, ['One', 'Two', 'Text']],
  [{ op: 'add', path: '/metadata/dc.title/0', value: 'Text' }, ['Text', 'One', 'Two']],
  [{ op: 'replace', path: '/metadata/dc.title/0', value: 'Text' }, ['Text', 'Two']],
  [{ op: 'replace', path: '/metadata/dc.title/1', value: ['Text'] }, ['One', 'Text']],
  [{ op: 'test', path: '/metadata/dc.title/1', value: 'Two' }, ['One', 'Two']],
  [{ op: 'replace', path: '/metadata', value: { 'dc.title': ['Text'] } }, ['Text']],
] as const

test('I2 a value of metadata may be a text, or a list of texts, wherever a patch has one', async t => {
  const { admin } = await started(t)
  for (const [operation, expected] of textPatches) {
    const { path } = await newItem(admin)
    await change(admin, 'put', path, { metadata: { 'dc.title': [value('One', 'en'), 'Two'] } })
    const { status, body } = await change(admin, 'patch', path, [operation])
    assert.equal(status, 200, `${JSON.stringify(operation)}: ${JSON.stringify(body)}`)
    const titles = body.metadata['dc.title'] ?? []
    assert.deepEqual(
      titles.map(one => one.value),
      expected,
      JSON.stringify(operation),
    )
    const texts = titles.filter(one => one.value === 'Text')
    assert.ok(
      texts.every(({ language }) => language === null),
      'a text has no language',
    )
  }
})

test('I2 metadata are patched as DSpace’s clients write them, and what follows from them follows', async t => {
  const { admin } = await started(t)
  const { path, uuid } = await newItem(admin)
  const ops = [
    {
      op: 'add',
      path: '/metadata/dc.title/-',
      value: [{ ...value('Über Flüsse', 'de'), securityLevel: null }],
    },
    { op: 'add', path: '/metadata/dc.contributor.author', value: [value('Ruth'), value('Max')] },
    { op: 'add', path: '/metadata/dc.contributor.author/0', value: value('Zoë') },
    {
      op: 'add',
      path: '/metadata/dc.subject/',
      value: { ...value('rivers'), authority: null, confidence: -1 },
    },
    { op: 'replace', path: '/metadata/dc.title/0/value', value: 'Of Rivers' },
    { op: 'replace', path: '/metadata/dc.title/0/language', value: 'en_US' },
    { op: 'move', from: '/metadata/dc.contributor.author/2', path: '/metadata/dc.contributor.author/0' },
    { op: 'remove', path: '/metadata/dc.contributor.author/1' },
  ]
  const patched = await change(admin, 'patch', path, ops)
  assert.equal(patched.status, 200, JSON.stringify(patched.body))
  const shown = Object.fromEntries(
    Object.entries(patched.body.metadata).map(([field, list]) => [
      field,
      list.map(one => [one.value, one.language]),
    ]),
  )
  assert.deepEqual(shown, {
    'dc.title': [
      ['Of Rivers', 'en_US'],
      ['Über Flüsse', 'de'],
    ],
    'dc.contributor.author': [
      ['Max', null],
      ['Ruth', null],
    ],
    'dc.subject': [['rivers', null]],
  })
  assert.deepEqual(await read(admin, path), patched.body)
  const row = (await (await admin.get(`/api/query/v4/items/${uuid}`)).json()) as Record<string, unknown>
  assert.deepEqual([row.title, row.authors], ['Of Rivers', ['Max', 'Ruth']])
  assert.equal(
    (await change(admin, 'patch', path, [{ op: 'remove', path: '/metadata/dc.title' }])).status,
    200,
  )
  assert.equal((await read(admin, path)).name, null)
})

test('I2 a patch that can’t be applied changes nothing, and says which operation it was', async t => {
  const { admin } = await started(t)
  const { path } = await newItem(admin)
  const before = await read(admin, path)
  const good = { op: 'add', path: '/metadata/dc.subject/-', value: value('x') }
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [
      { op: 'remove', path: '/metadata/dc.title/1' },
      /Operation 1: there is nothing at \/metadata\/dc.title\/1/,
    ],
    [{ op: 'remove', path: '/metadata/dc.nothing' }, /there is no field/],
    [{ op: 'replace', path: '/metadata/dc.title/01/value', value: 'x' }, /nothing at/],
    [{ op: 'add', path: '/metadata/title/-', value: value('x') }, /no metadata field/],
    [{ op: 'add', path: '/metadata/__proto__/-', value: value('x') }, /no metadata field/],
    [{ op: 'add', path: '/metadata/dc.title/-', value: 7 }, /must be a text, or an object/],
    [{ op: 'add', path: '/metadata/dc.title', value: ['x', null] }, /dc\.title\/1 must be a text/],
    [{ op: 'add', path: '/metadata/dc.title', value: 'a\u0000b' }, /dc\.title contains a control/],
    [{ op: 'add', path: '/metadata/dc.title/-', value: value('a\u0000b') }, /control character/],
    [{ op: 'add', path: '/metadata/dc.title/-', value: value('\ud800') }, /half a surrogate/],
    [{ op: 'add', path: '/metadata/dc.title/-', value: { value: 'x', authority: 'viaf:1' } }, /authority/],
    [
      { op: 'add', path: '/metadata/dc.title/-', value: { value: 'x', color: 'red' } },
      /unknown member "color"/,
    ],
    [{ op: 'replace', path: '/withdrawn', value: 'maybe' }, /true or false/],
    [{ op: 'remove', path: '/discoverable' }, /can only be replaced/],
    [{ op: 'replace', path: '/name', value: 'x' }, /below \/metadata/],
    [{ op: 'test', path: '/metadata/dc.title/0', value: value('other') }, /has another value/],
    [
      { op: 'test', path: '/metadata/dc.title/0/value', value: 'other' },
      /the value that is there is another one/,
    ],
    [{ op: 'move', from: '/metadata/dc.title/7', path: '/metadata/dc.title/0' }, /nothing at/],
    [{ op: 'move', from: '/withdrawn', path: '/metadata/dc.title/0' }, /from must name a value/],
    [{ op: 'add', path: '/metadata/dc.title/0/value/x', value: 'x' }, /no path in metadata/],
    [{ op: 'jump', path: '/metadata/dc.title/0' }, /op must be one of/],
  ]
  for (const [operation, message] of wrong) {
    const answer = await change(admin, 'patch', path, [good, operation])
    assert.equal(answer.status, 422, JSON.stringify(operation))
    assert.match(answer.body.detail, message)
  }
  const many = Array.from({ length: 1_001 }, () => good)
  assert.equal((await change(admin, 'patch', path, many)).status, 422)
  assert.equal((await change(admin, 'patch', path, { op: 'add' })).status, 400)
  const long = [{ ...good, value: value('x'.repeat(1_100_000)) }]
  assert.equal((await change(admin, 'patch', path, long)).status, 413)
  assert.equal((await change(admin, 'patch', path, [good], { 'content-type': 'text/plain' })).status, 415)
  assert.deepEqual(await read(admin, path), before)
})

test('I3 with If-Match nobody overwrites what they haven’t seen; without, no change is lost', async t => {
  const { admin } = await started(t)
  const { path } = await newItem(admin)
  const tag = (await admin.get(path)).headers.get('etag') ?? ''
  const add = (text: string, headers = {}) =>
    change(admin, 'patch', path, [{ op: 'add', path: '/metadata/dc.subject/-', value: value(text) }], headers)
  const first = await add('first', { 'if-match': tag })
  assert.equal(first.status, 200)
  assert.notEqual(first.headers.get('etag'), tag)
  assert.equal((await add('second', { 'if-match': tag })).status, 412)
  assert.equal((await change(admin, 'delete', path, undefined, { 'if-match': tag })).status, 412)
  const all = await Promise.all(Array.from({ length: 12 }, (_, n) => add(`${n}`)))
  assert.deepEqual(new Set(all.map(one => one.status)), new Set([200]))
  const subjects = (await read(admin, path)).metadata['dc.subject'] ?? []
  assert.deepEqual(
    subjects.map(one => one.value).toSorted(),
    ['first', ...Array.from({ length: 12 }, (_, n) => `${n}`)].toSorted(),
  )
})

test('I3 PUT replaces metadata and state, as the Python client’s update_item sends them', async t => {
  const { admin } = await started(t)
  const { path, uuid } = await newItem(admin)
  const body = await read(admin, path)
  const { _links, ...sent } = body
  const put = await change(admin, 'put', path, {
    ...sent,
    withdrawn: true,
    metadata: { 'dc.title': [value('Other')] },
  })
  assert.equal(put.status, 200)
  assert.deepEqual([put.body.name, put.body.withdrawn, put.body.discoverable], ['Other', true, true])
  assert.equal(
    (await change(admin, 'put', path, { uuid: '00000000-0000-4000-8000-000000000000' })).status,
    422,
  )
  assert.equal((await change(admin, 'put', path, { uuid, withdrawn: 'yes' })).status, 422)
  assert.equal((await change(admin, 'put', path, [])).status, 400)
})

test('I4 an item is deleted with its bundles and files', async t => {
  const { admin, service } = await started(t)
  const { path, uuid, bundle } = await newItem(admin)
  assert.equal((await change(admin, 'delete', path)).status, 204)
  for (const gone of [path, `/api/core/bundles/${bundle}`]) assert.equal(await statusOf(admin, gone), 404)
  assert.equal((await change(admin, 'delete', path)).status, 404)
  assert.equal(await service.storage.repository.uuidOf(uuid), undefined)
})

test('I5 hidden metadata stay as they are when someone who doesn’t see them changes an item', async t => {
  const { admin, reader, service } = await started(t)
  const { path, uuid } = await newItem(admin)
  const hidden = 'dc.description.provenance'
  await change(admin, 'patch', path, [{ op: 'add', path: `/metadata/${hidden}`, value: [value('secret')] }])
  const group = (await service.storage.people.listGroups()).find(one => one.name === 'Readers')
  const policy = `/api/authz/resourcepolicies?resource=${uuid}&group=${group?.uuid}`
  assert.equal((await change(admin, 'post', policy, { action: 'WRITE' })).status, 201)
  const seen = await read(reader, path)
  assert.equal(seen.metadata[hidden], undefined)
  const title = await change(reader, 'patch', path, [
    { op: 'replace', path: '/metadata/dc.title/0/value', value: 'New' },
  ])
  assert.equal(title.status, 200)
  assert.equal(title.body.metadata[hidden], undefined)
  assert.equal((await change(reader, 'put', path, { metadata: { 'dc.title': [value('Put')] } })).status, 200)
  for (const operation of [
    { op: 'add', path: `/metadata/${hidden}/-`, value: value('mine') },
    { op: 'remove', path: `/metadata/${hidden}` },
    { op: 'copy', from: `/metadata/${hidden}/0`, path: '/metadata/dc.title/0' },
    { op: 'replace', path: '/metadata', value: { [hidden]: [value('mine')] } },
  ])
    assert.equal((await change(reader, 'patch', path, [operation])).status, 422)
  assert.equal((await change(reader, 'put', path, { metadata: { [hidden]: [value('mine')] } })).status, 422)
  const { metadata } = await read(admin, path)
  assert.deepEqual([metadata[hidden]?.[0]?.value, metadata['dc.title']?.[0]?.value], ['secret', 'Put'])
})
