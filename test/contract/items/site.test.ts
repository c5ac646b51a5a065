import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { siteUuid } from '../../../src/items/sites.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { listPath } from '../../support/clients/listings.ts'
import { type Answer, change, read } from '../../support/data/editing.ts'
import { type Event, eventsOf } from '../../support/data/events.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const uuid = siteUuid(baseUrl)
const path = `/api/core/sites/${uuid}`
const header = 'dspace.cms.home-header'
const agreement = 'dc.rights'
const value = (text: string, language?: string) => ({ value: text, ...(language && { language }) })

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env })
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  const ruth = await service.addLoggedIn('ruth@example.org')
  const nobody = service.client()
  return { service, admin, ruth, nobody }
}
const patch = (client: Client, operations: unknown, headers = {}) =>
  change(client, 'patch', path, operations, headers)
const textsIn = ({ metadata }: Pick<Answer, 'metadata'>, field: string) =>
  metadata[field]?.map(one => [one.language, one.value])
const seen = async (client: Client, field: string) => textsIn(await read(client, path), field)

/** The operations that the page *Edit CMS Metadata* sends: a value for each language that has a text. */
const cms = (isThere: boolean, ...texts: readonly (readonly [language: string, text: string])[]) => [
  ...(isThere ? [{ op: 'remove', path: `/metadata/${header}` }] : []),
  ...texts.map(([language, text]) => ({
    op: 'add',
    path: `/metadata/${header}/-`,
    value: value(text, language),
  })),
]
/** The operations that the page *Edit User Agreement* sends: a value for each language that it knows. */
const rights = (...texts: readonly (readonly [language: string, text: string])[]) =>
  texts.map(([language, text], at) => ({
    op: at === 0 ? 'replace' : 'add',
    path: `/metadata/${agreement}`,
    value: value(text, language),
  }))

test('S11 everybody reads the texts that an administrator writes on the pages of DSpace’s interface', async t => {
  const { admin, ruth, nobody } = await started(t)
  assert.deepEqual((await read(nobody, path)).metadata, {})
  const first = await patch(admin, cms(false, ['en', '<h1>Letters</h1>'], ['de', 'Briefe ✉']))
  assert.equal(first.status, 200, JSON.stringify(first.body))
  assert.equal(first.body.id, uuid)
  assert.equal((await patch(admin, cms(true, ['en', 'Letters'], ['pt-BR', 'Cartas']))).status, 200)
  assert.equal(
    (await patch(admin, rights(['en', 'Be kind.'], ['de', ''], ['fr', 'Soyez gentils.']))).status,
    200,
  )
  const kind = [
    ['en', 'Be kind.'],
    ['de', ''],
    ['fr', 'Soyez gentils.'],
  ]
  for (const client of [admin, ruth, nobody]) {
    assert.deepEqual(await seen(client, header), [
      ['en', 'Letters'],
      ['pt-BR', 'Cartas'],
    ])
    assert.deepEqual(await seen(client, agreement), kind)
    // The interface requests these addresses, and compares the values.
    const listed = (await read(client, '/api/core/sites?projection=allLanguages'))._embedded.sites?.[0]
    assert.deepEqual(listed && textsIn(listed, agreement), kind)
    assert.equal(listed?._links.self?.href, `${baseUrl}${path}`)
    const shown = await read(client, `${path}?projection=allLanguages`)
    assert.equal(shown._links.self?.href, `${baseUrl}${path}?projection=allLanguages`)
  }
  assert.equal((await patch(admin, rights(['en', 'Be kinder.'], ['de', 'Seid netter.']))).status, 200)
  assert.deepEqual(await seen(nobody, agreement), [
    ['en', 'Be kinder.'],
    ['de', 'Seid netter.'],
  ])
  assert.equal((await patch(admin, cms(true))).status, 200)
  assert.deepEqual(Object.keys((await read(nobody, path)).metadata), [agreement])
})

test('S11 the right to change the texts is checked before the body is read', async t => {
  const { ruth } = await started(t)
  assert.equal((await ruth.patch(path, 'x'.repeat(2_000_000))).status, 403)
})

test('S11 a patch of the site that is wrong anywhere changes nothing, and says where', async t => {
  const { admin } = await started(t)
  await patch(admin, cms(false, ['en', 'Letters']))
  const before = await read(admin, path)
  const good = cms(false, ['en', 'x'])[0]
  const field = `/metadata/${header}`
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ op: 'replace', path: '/name', value: 'x' }, /below \/metadata/],
    [{ op: 'replace', path: '/withdrawn', value: true }, /below \/metadata/],
    [{ op: 'add', path: '/metadata/title', value: value('x') }, /no metadata field/],
    [{ op: 'add', path: '/metadata/__proto__', value: value('x') }, /no metadata field/],
    [{ op: 'add', path: field, value: 7 }, /must be a text, or an object/],
    [{ op: 'add', path: field, value: { language: 'en' } }, /must have value, a string/],
    [{ op: 'add', path: field, value: value('a\u0000b') }, /control character/],
    [{ op: 'add', path: `${field}/7`, value: value('x') }, /nothing at/],
    [{ op: 'add', path: field, value: value('x'.repeat(100_001)) }, /longer than/],
    [{ op: 'add', path: field, value: value('x', 'y'.repeat(501)) }, /longer than/],
    [{ op: 'remove', path: '/metadata/dc.none' }, /no field/],
    [{ op: 'test', path: `${field}/0`, value: value('other', 'en') }, /another value/],
  ]
  for (const [operation, says] of wrong) {
    const { status, body } = await patch(admin, [good, operation])
    assert.equal(status, 422, JSON.stringify(operation))
    assert.match(body.detail, /^Operation 1\b/)
    assert.match(body.detail, says)
  }
  const many = Array.from({ length: 12 }, () => good && { ...good, value: value('y'.repeat(99_000)) })
  assert.equal((await patch(admin, many.slice(0, 9))).status, 200)
  assert.equal((await patch(admin, many.slice(0, 9))).status, 422, 'over 1 MiB')
  assert.equal(
    (
      await patch(
        admin,
        Array.from({ length: 1_001 }, () => good),
      )
    ).status,
    422,
  )
  assert.equal((await patch(admin, many)).status, 413)
  assert.equal((await patch(admin, { op: 'add' })).status, 400)
  assert.equal((await patch(admin, [good], { 'content-type': 'text/plain' })).status, 415)
  assert.equal((await patch(admin, cms(true, ['en', 'Letters']))).status, 200)
  assert.deepEqual(await read(admin, path), before)
  const other = await admin.patch('/api/core/sites/00000000-0000-4000-8000-000000000000', '[]', {
    'content-type': 'application/json',
  })
  await assertProblem(other, 404, 'not-found')
})

test('S11 with If-Match no text of the site is overwritten unseen; without, no change is lost, the first ones included', async t => {
  const { admin, nobody } = await started(t)
  const add = (text: string, headers = {}) =>
    patch(admin, [{ op: 'add', path: `/metadata/${header}`, value: value(text) }], headers)
  const all = await Promise.all(Array.from({ length: 12 }, (_, n) => add(`${n}`)))
  assert.deepEqual(new Set(all.map(one => one.status)), new Set([200]))
  assert.deepEqual(
    (await seen(nobody, header))?.map(([, text]) => text).toSorted(),
    Array.from({ length: 12 }, (_, n) => `${n}`).toSorted(),
  )
  const tag = (await nobody.get(path)).headers.get('etag') ?? ''
  const changed = await add('more', { 'if-match': tag })
  assert.equal(changed.status, 200)
  assert.equal(changed.headers.get('etag'), (await nobody.get(path)).headers.get('etag'))
  assert.equal((await add('late', { 'if-match': tag })).status, 412)
})

test('S11 D9 each change of the site is an event with what was there before and after', async t => {
  const { admin } = await started(t)
  await patch(admin, cms(false, ['en', 'Letters']))
  await patch(admin, cms(true, ['en', 'Letters']))
  await patch(admin, cms(true, ['en', 'Post']))
  const asked = listPath('audit-events', {
    query: '["=","event","site.change"]',
    order_by: '[{"field":"id"}]',
  })
  const found = (await (await admin.get(asked)).json()) as Event[]
  const field = `metadata.${header}`
  const told = (text: string) => ({ [field]: [{ value: text, language: 'en' }] })
  assert.deepEqual(
    found.map(({ object, changes }) => ({ object, changes })),
    [
      { object: uuid, changes: { before: { [field]: null }, after: told('Letters') } },
      { object: uuid, changes: { before: told('Letters'), after: told('Post') } },
    ],
    'what changes nothing is no event',
  )
})

test('S12 everybody who has accepted the user agreement is asked again after the script that DSpace’s interface begins', async t => {
  const { service, admin, ruth } = await started(t, { CARREL_END_USER_AGREEMENT: 'true' })
  const field = 'dspace.agreements.end-user'
  /** Returns the eperson as the interface reads it after a login and when a page is loaded. */
  const mine = async (client: Client) =>
    (await read(client, '/api/authn/status'))._embedded.eperson as unknown as Answer
  const accept = async (client: Client) => {
    const one = await mine(client)
    const operation = one.metadata[field]
      ? { op: 'replace', path: `/metadata/${field}/0`, value: value('true') }
      : { op: 'add', path: `/metadata/${field}`, value: [value('true')] }
    const { status } = await change(client, 'patch', `/api/eperson/epersons/${one.uuid}`, [operation])
    assert.equal(status, 200)
  }
  const begin = async (client: Client, name: string, text: string) => {
    const form = new FormData()
    form.set('properties', JSON.stringify([{ name, value: text }]))
    const answer = await client.post(
      '/api/system/scripts/metadata-deletion/processes',
      form as unknown as URLSearchParams,
    )
    return { status: answer.status, body: (await answer.json()) as { readonly processId: number } }
  }
  const reset = async (name: string) => {
    const { status, body } = await begin(admin, name, field)
    assert.equal(status, 202, JSON.stringify(body))
    return until(
      'the end of the process',
      () => service.storage.processes.one(body.processId),
      process => process?.ended !== null,
    )
  }
  const cookies = { op: 'add', path: '/metadata/dspace.agreements.cookies', value: [value('{"a":1}')] }
  await change(ruth, 'patch', `/api/eperson/epersons/${(await mine(ruth)).uuid}`, [cookies])
  for (const client of [admin, ruth]) {
    assert.equal((await mine(client)).metadata[field], undefined)
    await accept(client)
    assert.equal((await mine(client)).metadata[field]?.[0]?.value, 'true')
  }
  assert.equal((await begin(ruth, '-metadata', field)).status, 403)
  for (const other of ['dspace.agreements.cookies', 'eperson.lastname', 'x', ''])
    assert.equal((await begin(admin, '--metadata', other)).status, 400)
  // The interface writes the parameter with one hyphen.
  assert.deepEqual((await reset('-metadata'))?.result, { epersons: 2 })
  for (const client of [admin, ruth]) assert.equal((await mine(client)).metadata[field], undefined)
  assert.deepEqual(textsIn(await mine(ruth), 'dspace.agreements.cookies'), [[null, '{"a":1}']])
  await accept(ruth)
  assert.deepEqual((await reset('-m'))?.result, { epersons: 1 })
  assert.deepEqual((await reset('--metadata'))?.result, { epersons: 0 })
  assert.deepEqual(
    (await eventsOf(admin, 'agreement.reset')).map(({ object, outcome }) => [object, outcome]),
    Array.from({ length: 3 }, () => [field, 'success']),
  )
})
