import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { maxFields, maxSchemas } from '../../../src/model/items.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { listPath } from '../../support/clients/listings.ts'
import { change, newItem, read } from '../../support/data/editing.ts'
import type { Event } from '../../support/data/events.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

const schemasPath = '/api/core/metadataschemas'
const fieldsPath = '/api/core/metadatafields'
const json = { 'content-type': 'application/json' }

interface Schema {
  readonly id: number
  readonly prefix: string
  readonly namespace: string
}
interface Field {
  readonly id: number
  readonly element: string
  readonly qualifier: string | null
  readonly scopeNote: string | null
  readonly _links: Readonly<Record<string, { readonly href: string }>>
  readonly _embedded: { readonly schema: Schema }
}
interface Page {
  readonly _embedded: {
    readonly metadataschemas: readonly Schema[]
    readonly metadatafields: readonly Field[]
  }
  readonly page: { readonly totalElements: number; readonly size: number }
}

async function started(t: TestContext) {
  const service = await startService(t)
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  const ruth = await service.addLoggedIn('ruth@example.org')
  const nobody = service.client()
  return { service, admin, ruth, nobody }
}

const terms = { prefix: 'dcterms', namespace: 'http://purl.org/dc/terms/' }
const send = (client: Client, method: 'post' | 'put', path: string, body: object) =>
  client[method](path, JSON.stringify(body), json)

async function added<T>(client: Client, path: string, body: object): Promise<T> {
  const answer = await send(client, 'post', path, body)
  assert.equal(answer.status, 201, await answer.clone().text())
  const made = (await answer.json()) as T & { readonly _links: Field['_links'] }
  assert.equal(answer.headers.get('location'), made._links.self?.href)
  return made
}
const page = async (client: Client, path: string) => {
  const answer = await client.get(path)
  assert.equal(answer.status, 200, await answer.clone().text())
  return (await answer.json()) as Page
}
const nameOf = ({ element, qualifier, _embedded: { schema } }: Field) =>
  [schema.prefix, element, qualifier].filter(part => part !== null).join('.')
/** Returns the names of the fields that a search by name finds. */
const found = async (client: Client, query: string) =>
  (await page(client, `${fieldsPath}/search/byFieldName?${query}`))._embedded.metadatafields.map(nameOf)

test('S6 a new store has the fields of Dublin Core, which everybody reads page by page', async t => {
  const { nobody } = await started(t)
  const { _embedded: all, page: facts } = await page(nobody, `${fieldsPath}?size=1000`)
  const names = all.metadatafields.map(nameOf)
  assert.equal(facts.totalElements, 42)
  assert.deepEqual(names, names.toSorted())
  assert.ok(names.includes('dc.contributor.author'))
  const parts = []
  for (const number of [0, 1, 2, 3, 4])
    parts.push(...(await page(nobody, `${fieldsPath}?page=${number}&size=10`))._embedded.metadatafields)
  assert.deepEqual(parts, all.metadatafields)
  const ofSchema = await page(nobody, `${fieldsPath}/search/bySchema?schema=dc&size=1`)
  assert.deepEqual([ofSchema._embedded.metadatafields.length, ofSchema.page.totalElements], [1, 42])
  assert.equal((await page(nobody, `${fieldsPath}/search/bySchema?schema=none`)).page.totalElements, 0)
  const [schema] = (await page(nobody, `${schemasPath}?size=10000`))._embedded.metadataschemas
  assert.equal(schema?.prefix, 'dc')
  const [first] = all.metadatafields
  for (const { href } of Object.values(first?._links ?? {}))
    assert.equal((await nobody.get(href.slice(baseUrl.length))).status, 200, href)
  const own = await nobody.get(`${fieldsPath}/${first?.id}/schema`)
  assert.deepEqual(await own.json(), schema)
  for (const wrong of [
    `${fieldsPath}/99/schema`,
    `${fieldsPath}/dc.title`,
    `${fieldsPath}/99`,
    `${schemasPath}/dc`,
    `${schemasPath}/${'9'.repeat(30)}`,
  ])
    await assertProblem(await nobody.get(wrong), 404, 'not-found')
})

test('S6 fields are found by how their name or a part of it begins, by parts, and by their whole name', async t => {
  const { admin, nobody } = await started(t)
  const { id } = await added<Schema>(admin, schemasPath, { prefix: 'Local', namespace: 'x' })
  for (const [element, qualifier] of [
    ['shelf', null],
    ['shelf', 'Mark'],
    ['my_shelf', null],
  ])
    await added(admin, `${fieldsPath}?schemaId=${id}`, { element, qualifier })
  assert.deepEqual(await found(nobody, 'query=dc.title'), ['dc.title', 'dc.title.alternative'])
  assert.deepEqual(await found(nobody, 'query=local.shelf'), ['Local.shelf', 'Local.shelf.Mark'])
  assert.deepEqual(await found(nobody, 'query=SHELF'), ['Local.shelf', 'Local.shelf.Mark'])
  assert.deepEqual(await found(nobody, 'query=mark'), ['Local.shelf.Mark'])
  // Wildcards of SQL match only themselves.
  assert.deepEqual(await found(nobody, 'query=m%25'), [])
  assert.deepEqual(await found(nobody, 'query=my_shelf'), ['Local.my_shelf'])
  assert.deepEqual(await found(nobody, 'query=s_elf'), [])
  assert.deepEqual(await found(nobody, 'schema=dc&element=subject&qualifier=ddc'), ['dc.subject.ddc'])
  assert.deepEqual(await found(nobody, 'schema=Local&query=s'), ['Local.shelf', 'Local.shelf.Mark'])
  assert.deepEqual(await found(nobody, 'exactName=Local.shelf'), ['Local.shelf'])
  assert.deepEqual(await found(nobody, 'exactName=local.unknown'), [], 'what isn’t registered isn’t offered')
  // The interface also sends parameters that it leaves empty.
  const rest = 'schema=&element=&qualifier='
  assert.deepEqual(await found(nobody, `${rest}&query=&exactName=dc.title`), ['dc.title'])
  assert.equal((await found(nobody, `${rest}&query=&exactName=&size=100`)).length, 45)
})

test('S6 administrators add, change and delete schemas and fields, and the trail has each change', async t => {
  const { admin, nobody } = await started(t)
  const schema = await added<Schema>(admin, schemasPath, { ...terms, type: { value: 'metadataschema' } })
  const own = `${schemasPath}/${schema.id}`
  assert.deepEqual(await (await nobody.get(own)).json(), schema)
  const fields = `${fieldsPath}?schemaId=${schema.id}`
  const field = await added<Field>(admin, fields, { element: 'abstract', qualifier: '', scopeNote: '' })
  assert.deepEqual([field.qualifier, field.scopeNote, nameOf(field)], [null, null, 'dcterms.abstract'])
  const ownField = `${fieldsPath}/${field.id}`
  assert.deepEqual(await (await nobody.get(ownField)).json(), field)

  const renamed = await send(admin, 'put', own, { ...schema, namespace: 'https://example.org/terms/' })
  assert.equal(renamed.status, 200)
  assert.equal(((await renamed.json()) as Schema).namespace, 'https://example.org/terms/')
  const noted = await send(admin, 'put', ownField, { ...field, scopeNote: 'A summary.\nIn one language.' })
  assert.equal(noted.status, 200)
  assert.equal(((await noted.json()) as Field).scopeNote, 'A summary.\nIn one language.')
  assert.equal((await admin.delete(own)).status, 204)
  for (const path of [own, ownField]) {
    await assertProblem(await nobody.get(path), 404, 'not-found')
    await assertProblem(await admin.delete(path), 404, 'not-found')
    await assertProblem(await send(admin, 'put', path, { ...schema, ...field }), 404, 'not-found')
  }
  assert.notEqual((await added<Schema>(admin, schemasPath, terms)).id, schema.id, 'no id is given twice')

  const asked = listPath('audit-events', {
    query: '["~","event","^metadata-"]',
    order_by: '[{"field":"id"}]',
  })
  const events = ((await (await admin.get(asked)).json()) as Event[]).map(({ event, object, changes }) => ({
    event,
    object,
    changes,
  }))
  const facts = { id: field.id, element: 'abstract', qualifier: null }
  const full = { ...facts, scopeNote: 'A summary.\nIn one language.' }
  assert.deepEqual(events.slice(0, 6), [
    {
      event: 'metadata-schema.add',
      object: 'dcterms',
      changes: { before: null, after: { id: schema.id, ...terms } },
    },
    {
      event: 'metadata-field.add',
      object: 'dcterms.abstract',
      changes: { before: null, after: { ...facts, scopeNote: null } },
    },
    {
      event: 'metadata-schema.change',
      object: 'dcterms',
      changes: {
        before: { namespace: terms.namespace },
        after: { namespace: 'https://example.org/terms/' },
      },
    },
    {
      event: 'metadata-field.change',
      object: 'dcterms.abstract',
      changes: { before: { scopeNote: null }, after: { scopeNote: full.scopeNote } },
    },
    { event: 'metadata-field.delete', object: 'dcterms.abstract', changes: { before: full, after: null } },
    {
      event: 'metadata-schema.delete',
      object: 'dcterms',
      changes: {
        before: { id: schema.id, prefix: 'dcterms', namespace: 'https://example.org/terms/' },
        after: null,
      },
    },
  ])
})

testOn('sqlite', 'S6 what can’t be registered is refused with what it must be', async t => {
  const { admin } = await started(t)
  const schema = await added<Schema>(admin, schemasPath, terms)
  const fields = `${fieldsPath}?schemaId=${schema.id}`
  const field = await added<Field>(admin, fields, { element: 'abstract' })
  const refused = async (method: 'post' | 'put', path: string, body: object, says: RegExp) =>
    assert.match(
      (await assertProblem(await send(admin, method, path, body), 422, 'change-refused')).detail,
      says,
    )
  const other = { prefix: 'other', namespace: 'https://example.org/other/' }
  for (const prefix of ['', 'a.b', 'a b', 'a,b', '1a', 'ä', 'x'.repeat(33), null, 1])
    await refused('post', schemasPath, { ...other, prefix }, /^prefix must begin with a letter/)
  for (const namespace of ['', '  ', 'a\nb', 'a\0', 'x'.repeat(257), '\ud800', null, 1])
    await refused('post', schemasPath, { ...other, namespace }, /^namespace must be a line/)
  await refused('post', schemasPath, { ...other, prefix: 'dcterms' }, /this prefix or namespace already/)
  await refused('post', schemasPath, { ...other, namespace: terms.namespace }, /this prefix or namespace/)
  for (const element of ['', 'a.b', 'a b', 'a,b', 'ä', 'x'.repeat(65), null, 1])
    await refused('post', fields, { element }, /^element must have letters/)
  for (const qualifier of ['a.b', 'a b', 'x'.repeat(65), 1])
    await refused('post', fields, { element: 'a', qualifier }, /^qualifier must have letters/)
  for (const scopeNote of ['x'.repeat(2_001), 'a\0', '\ud800', 1])
    await refused('post', fields, { element: 'a', scopeNote }, /^scopeNote must be a text of at most 2,000/)
  await refused('post', fields, { element: 'abstract' }, /this element and qualifier already/)
  await refused('post', fieldsPath, { element: 'a' }, /^schemaId must be/)
  await refused('post', `${fieldsPath}?schemaId=99`, { element: 'a' }, /no metadata schema with the id/)

  const [own, ownField] = [`${schemasPath}/${schema.id}`, `${fieldsPath}/${field.id}`]
  await refused('put', own, { ...schema, prefix: 'x' }, /^prefix can’t be changed/)
  await refused('put', own, { ...schema, id: 99 }, /^The id in the body/)
  await refused('put', own, { ...schema, namespace: ' ' }, /^namespace must be/)
  const [dc] = (await page(admin, schemasPath))._embedded.metadataschemas
  await refused('put', own, { ...schema, namespace: dc?.namespace }, /this namespace already/)
  await refused('put', ownField, { ...field, element: 'x' }, /^element can’t be changed/)
  await refused('put', ownField, { ...field, qualifier: 'x' }, /^qualifier can’t be changed/)
  await refused('put', ownField, { ...field, id: 99 }, /^The id in the body/)
  // The interface's form sends an empty text for a missing qualifier.
  assert.equal((await send(admin, 'put', ownField, { ...field, qualifier: '' })).status, 200)
  assert.deepEqual(await (await admin.get(own)).json(), schema)
  assert.deepEqual(await (await admin.get(ownField)).json(), field)
})

test('S6 W1 items take fields that aren’t registered, and keep their values when a schema is deleted', async t => {
  const { admin } = await started(t)
  const schema = await added<Schema>(admin, schemasPath, { prefix: 'local', namespace: 'x' })
  await added(admin, `${fieldsPath}?schemaId=${schema.id}`, { element: 'shelf', qualifier: 'mark' })
  const { uuid } = await newItem(admin)
  for (const name of ['local.shelf.mark', 'other.never.registered']) {
    const operation = { op: 'add', path: `/metadata/${name}`, value: [{ value: 'Q 7' }] }
    assert.equal((await change(admin, 'patch', `/api/core/items/${uuid}`, [operation])).status, 200, name)
  }
  assert.equal((await admin.delete(`${schemasPath}/${schema.id}`)).status, 204)
  const { metadata } = await read(admin, `/api/core/items/${uuid}`)
  for (const name of ['local.shelf.mark', 'other.never.registered'])
    assert.deepEqual(
      metadata[name]?.map(({ value }) => value),
      ['Q 7'],
    )
})

test('S6 the registry has a bound, and of two equal ones that are added at once, one is there', async t => {
  const { service, admin } = await started(t)
  const { registry } = service.storage
  const both = await Promise.all([1, 2].map(() => send(admin, 'post', schemasPath, terms)))
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [201, 422])
  const event = commandEvent('metadata-schema.add')
  for (let n = 0; n < maxSchemas - 2; n++)
    assert.ok(typeof (await registry.addSchema({ prefix: `s${n}`, namespace: `${n}` }, event)) === 'object')
  const answer = await send(admin, 'post', schemasPath, { prefix: 'last', namespace: 'x' })
  assert.match((await assertProblem(answer, 422, 'change-refused')).detail, /There can be 100/)
  assert.equal((await page(admin, `${schemasPath}?size=10000`)).page.totalElements, maxSchemas)
})

testOn(
  'sqlite',
  'S6 there are at most 5,000 fields, and a schema with thousands is deleted with all of them',
  async t => {
    const { service, admin } = await started(t)
    const { registry } = service.storage
    const { id } = await added<Schema>(admin, schemasPath, terms)
    const event = commandEvent('metadata-field.add')
    const wanted = Array.from({ length: maxFields - 42 }, (_, n) => ({
      element: `e${n}`,
      qualifier: null,
      scopeNote: null,
    }))
    await Promise.all(wanted.map(one => registry.addField(id, one, event)))
    const answer = await send(admin, 'post', `${fieldsPath}?schemaId=${id}`, { element: 'last' })
    assert.match((await assertProblem(answer, 422, 'change-refused')).detail, /There can be 5,000/)
    const last = await page(admin, `${fieldsPath}/search/byFieldName?query=dcterms.e&size=1000&page=4`)
    assert.deepEqual([last._embedded.metadatafields.length, last.page.totalElements], [958, 4_958])
    assert.equal((await admin.delete(`${schemasPath}/${id}`)).status, 204)
    assert.equal((await page(admin, fieldsPath)).page.totalElements, 42)
  },
)
