import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Administrator, administrator } from '../../support/clients/administrator.ts'
import { list } from '../../support/clients/listings.ts'
import { changesOf } from '../../support/data/events.ts'
import { importText } from '../../support/data/imports.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

const artworks = [
  { id: 7, artist_id: 1, year: 1900, height: 20.5, state: 'shown', page: 'https://example.org/7' },
  { id: 8, artist_id: 2, year: 1905, height: 30, state: 'kept', page: null },
]

async function started(t: TestContext): Promise<{ service: Service; root: Administrator }> {
  const service = await startService(t)
  await service.addRecords('artists', 'id', [
    { id: 1, name: 'Ruth' },
    { id: 2, name: 'Zoë' },
  ])
  await service.addRecords('artworks', 'id', artworks)
  return { service, root: await administrator(service) }
}

interface Described {
  readonly name: string
  readonly description?: string
  readonly fields: readonly Record<string, unknown>[]
}

const fieldIn = ({ fields }: Described, name: string) => fields.find(one => one.name === name)

async function shown(service: Service, field: string): Promise<Record<string, unknown> | undefined> {
  const all = await list<Described>(service.client(), '')
  const entity = all.find(({ name }) => name === 'artworks')
  return entity && fieldIn(entity, field)
}

const height = { label: 'Height', help: 'Without the frame.', unit: 'cm' }

test('EA11 labels, help, units and formats of fields are declared over HTTP, and readers see them', async t => {
  const { service, root } = await started(t)
  const before = await root.send('GET', '/artworks')
  const fields = { height, year: { format: 'year' }, page: { format: 'link' } }
  const { status, body } = await root.send('PATCH', '/artworks', { fields, description: 'Works of art.' })
  assert.equal(status, 200, JSON.stringify(body))
  const plain = { name: 'height', type: 'number', nullable: false }
  assert.deepEqual(fieldIn(body, 'height'), { ...plain, ...height })
  const [entity] = (await list<Described>(service.client(), '')).filter(({ name }) => name === 'artworks')
  assert.ok(entity)
  assert.equal(entity.description, 'Works of art.')
  assert.deepEqual(fieldIn(entity, 'height'), { ...plain, ...height })
  assert.equal(fieldIn(entity, 'page')?.format, 'link')

  // A merge patch changes the members that it has, and null takes one back.
  await root.send('PATCH', '/artworks', { fields: { height: { unit: 'mm', help: null } } })
  assert.deepEqual(await shown(service, 'height'), { ...plain, label: 'Height', unit: 'mm' })
  assert.equal((await shown(service, 'year'))?.format, 'year')
  assert.deepEqual((await changesOf(root.client, 'entity.change')).at(-1), {
    before: { declarations: { height: { label: 'Height', help: 'Without the frame.', unit: 'cm' } } },
    after: { declarations: { height: { label: 'Height', unit: 'mm' } } },
  })

  // A change of declarations is another description (EA4).
  const stale = await root.send(
    'PATCH',
    '/artworks',
    { fields: { height: null } },
    {
      'if-match': before.headers.get('etag') ?? '',
    },
  )
  assert.equal(stale.status, 412)
  await root.send('PATCH', '/artworks', { fields: { height: null } })
  assert.deepEqual(await shown(service, 'height'), plain)
})

test('EA11 EA2 the command line makes entities and declares their fields as PUT does, from a file', async t => {
  const { service } = await started(t)
  const file = join(service.dataFolder, 'entity.json')
  const apply = (body: object) => {
    writeFileSync(file, JSON.stringify(body))
    return carrel(service.dataFolder, ['entity', 'apply', file])
  }
  const number = { name: 'number', type: 'integer' }
  const state = { name: 'state', type: 'text', required: true, default: 'out', oneOf: ['out', 'back'] }
  const loans = { name: 'loans', key: ['number'], fields: [number, state], read: 'anonymous' }
  const made = await apply(loans)
  assert.deepEqual([made.code, made.stdout], [0, 'loans is there.\n'], made.stderr)
  const described = async () =>
    (await list<Described>(service.client(), '')).find(({ name }) => name === 'loans')
  assert.deepEqual(fieldIn((await described()) as Described, 'state'), { nullable: false, ...state })
  assert.match((await carrel(service.dataFolder, ['entity', 'show', 'loans'])).stdout, /oneOf: out, back/)
  assert.equal((await apply({ ...loans, fields: [number, { name: 'state', label: 'State' }] })).code, 0)
  assert.deepEqual(fieldIn((await described()) as Described, 'state'), {
    ...{ name: 'state', type: 'text', nullable: false },
    label: 'State',
  })
  const asked = { ...loans, fields: [number, { name: 'of', type: 'integer', references: 'nobody' }] }
  for (const [body, message] of [
    [{ ...asked, name: 'others' }, /entity\.json: \/fields\/1\/references: There is no entity "nobody"/],
    [{ ...loans, read: 'group:Nobody' }, /entity\.json: \/read: There is no group "Nobody"/],
    [{ ...loans, fields: [number] }, /entity\.json: \/fields\/1: loans has other fields/],
    [{ ...loans, kee: 1 }, /entity\.json: .*kee/],
    [{ name: 'epersons', read: 'admin' }, /built in/],
    [{ key: ['a'], fields: ['a'] }, /entity\.json: \/name: it is the name of the entity; there is none/],
  ] as const) {
    const done = await apply(body)
    assert.equal(done.code, 1, done.stdout)
    assert.match(done.stderr, message)
  }
  writeFileSync(file, '{"name": ')
  const broken = await carrel(service.dataFolder, ['entity', 'apply', file])
  assert.match(broken.stderr, /entity\.json can't be read: /)
})

test('EA11 declarations stay through imports, updates, restores and a time without their field', async t => {
  const { service, root } = await started(t)
  await root.send('PATCH', '/artworks', { fields: { height } })
  const declared = async () => (await shown(service, 'height'))?.label
  await importText(service, '{"id":7,"height":1}', { entity: 'artworks', key: 'id' })
  assert.equal(await declared(), 'Height')
  await importText(service, '{"id":7,"width":1}', { entity: 'artworks', key: 'id' })
  assert.equal(await shown(service, 'height'), undefined)
  const versions = await root.send('GET', '/artworks/versions')
  const [{ id }] = versions.body._embedded.versions
  assert.equal((await root.send('POST', `/artworks/versions/${id}/restore`)).status, 204)
  assert.equal(await declared(), 'Height')
})

test('EA11 a declaration that a field can’t have is refused at its member, and nothing changes', async t => {
  const { service, root } = await started(t)
  for (const [fields, member] of [
    [{ nothing: { label: 'x' } }, '/fields/nothing'],
    [{ height: { label: '' } }, '/fields/height/label'],
    [{ height: { label: 'x'.repeat(201) } }, '/fields/height/label'],
    [{ height: { label: 'a\u202eb' } }, '/fields/height/label'],
    [{ page: { format: 'javascript:' } }, '/fields/page/format'],
    [{ page: { format: 'year' } }, '/fields/page/format'],
    [{ height: { default: 'tall' } }, '/fields/height/default'],
    [{ state: { default: 5 } }, '/fields/state/default'],
    [{ state: { oneOf: ['kept', 'kept'] } }, '/fields/state/oneOf/1'],
    [{ state: { oneOf: [] } }, '/fields/state/oneOf'],
    [{ state: { oneOf: Array.from({ length: 10_000 }, (_, n) => `${n}`) } }, '/fields/state/oneOf'],
    [{ state: { oneOf: ['shown', 'kept'], default: 'lost' } }, '/fields/state/default'],
    [{ artist_id: { references: 'nobody' } }, '/fields/artist_id/references'],
    [{ state: { references: 'artists' } }, '/fields/state/references'],
    [{ state: { references: 'epersons' } }, '/fields/state/references'],
    [{ height: { colour: 'red' } }, '/fields/height/colour'],
    [{ height: [] }, '/fields/height'],
  ] as const) {
    const answer = await root.send('PATCH', '/artworks', { fields })
    assert.equal(answer.status, 422, JSON.stringify(answer.body))
    assert.equal(answer.body.member, member, JSON.stringify(answer.body))
  }
  const long = await root.send('PATCH', '/artworks', {
    fields: { height: { label: 'x'.repeat(1024 * 1024) } },
  })
  assert.equal(long.status, 413)
  const found = await list<Described>(service.client(), '')
  for (const field of found.find(({ name }) => name === 'artworks')?.fields ?? [])
    assert.deepEqual(Object.keys(field), ['name', 'type', 'nullable'])
})

test('EA13 fields are added, renamed, removed and get other types, all or nothing, and a restore undoes it', async t => {
  const { service, root } = await started(t)
  await root.send('PATCH', '/artworks', { fields: { height } })
  const change = {
    add: [{ name: 'place', type: 'text', default: 'store' }],
    remove: ['page'],
    rename: { height: 'size' },
    types: { year: 'text' },
  }
  const process = await root.ended(await root.post('/artworks/fields', JSON.stringify(change), jsonType))
  assert.equal(process.state, 'completed', String(process.fault))
  assert.deepEqual(await list(service.client(), 'artworks'), [
    { id: 7, artist_id: 1, year: '1900', size: 20.5, state: 'shown', place: 'store' },
    { id: 8, artist_id: 2, year: '1905', size: 30, state: 'kept', place: 'store' },
  ])
  assert.equal((await shown(service, 'size'))?.label, 'Height')
  assert.equal((await shown(service, 'place'))?.default, 'store')
  assert.equal((await shown(service, 'year'))?.type, 'text')

  // Text that is no number can't become one: nothing changes, and a preview says which.
  const numbers = { types: { state: 'integer' } }
  const preview = await root.ended(
    await root.post('/artworks/fields?preview=true', JSON.stringify(numbers), jsonType),
  )
  assert.deepEqual(preview.result?.misfits, [
    { field: 'state', count: 2, examples: ['7', '8'], values: ['shown', 'kept'] },
  ])
  const failed = await root.ended(await root.post('/artworks/fields', JSON.stringify(numbers), jsonType))
  assert.match(String(failed.fault), /2 values of artworks.state can't have the new type.*"7", "8"/)
  for (const wrong of [
    { remove: ['id'] },
    { rename: { size: 'year' } },
    { remove: ['nothing'] },
    { types: { id: 'text' } },
  ])
    assert.equal((await root.post('/artworks/fields', JSON.stringify(wrong), jsonType)).status, 422)

  const [version] = (await root.send('GET', '/artworks/versions')).body._embedded.versions
  assert.equal(version.replacedBy, 'entity.change')
  assert.equal((await root.send('POST', `/artworks/versions/${version.id}/restore`)).status, 204)
  assert.deepEqual(await list(service.client(), 'artworks'), artworks)
})

const jsonType = { 'content-type': 'application/json' }
