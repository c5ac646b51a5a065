import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { administrator } from '../../support/clients/administrator.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { changesOf, eventsOf } from '../../support/data/events.ts'
import { identity } from '../../support/providers/certificates.ts'
import { memberXml } from '../../support/providers/federation.ts'
import { asFederation, federationSettings, signedAggregate } from '../../support/providers/federation-flow.ts'
import { logIn, names, provider, ruth, secret, withProxy } from '../../support/providers/proxy-flow.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

/** Path of the identities that an administrator links and unlinks. */

const list = '/api/admin/sso/identities'
const subject = ruth[names.subject]
const json = { 'content-type': 'application/json' }

async function at(service: Service) {
  const root = await administrator(service)
  const put = async (path: string, body: unknown) =>
    root.client.request(`${list}/${path}`, {
      method: 'PUT',
      body: JSON.stringify(body),
      headers: { ...json, 'x-xsrf-token': (await root.client.csrfPair()).value },
    })
  const linked = async (query = '') => {
    const page = (await (await root.client.get(`${list}${query}`)).json()) as {
      _embedded: { identities: { eperson: string; provider: string; subject: string }[] }
    }
    return page._embedded.identities.map(one => [one.eperson, one.provider, one.subject])
  }
  return { root, put, linked }
}

async function started(t: TestContext) {
  // Logins at the provider are not matched by address, and create no epersons.
  const env = withProxy(t, { provider: { create: false } }) as Record<string, string>
  const service = await startService(t, { env })
  const { uuid } = await service.addEperson('r.example@work.example')
  return { service, uuid, env, ...(await at(service)) }
}

test('OP5 a linked subject logs in as its eperson, whatever the address is, until it is unlinked', async t => {
  const { service, uuid, root, put, linked } = await started(t)
  const answer = await put(`apache/${uuid}`, { subject })
  assert.equal(answer.status, 201, await answer.clone().text())
  const { linked: time, ...shown } = (await answer.json()) as Record<string, string>
  assert.deepEqual(shown, { eperson: uuid, email: 'r.example@work.example', provider: 'apache', subject })
  assert.ok(Date.parse(time ?? '') > 0)
  assert.equal((await put(`apache/${uuid}`, { subject, entityId: null })).status, 200, 'nothing to do')

  const client = await logIn(service)
  assert.equal((await client.status())._embedded.eperson?.uuid, uuid)
  const { uuid: other } = await service.addEperson('max@example.org')
  assert.deepEqual(await linked(`?eperson=${uuid}`), [[uuid, 'apache', subject]])
  assert.deepEqual(await linked(`?eperson=${other}`), [])
  await assertProblem(await put(`apache/${other}`, { subject }), 422, 'change-refused')
  await assertProblem(await put(`apache/${uuid}`, { subject: 'another' }), 422, 'change-refused')

  assert.equal((await root.client.delete(`${list}/apache/${uuid}`)).status, 204)
  assert.equal(await client.isLoggedIn(), false)
  assert.deepEqual(await linked(), [])
  const [event, ...more] = await eventsOf(root.client, 'eperson.link')
  assert.deepEqual([event?.actor, event?.eperson, event?.object, more], [root.uuid, uuid, 'apache', []])
  assert.deepEqual(await changesOf(root.client, 'eperson.link'), [{ before: null, after: { subject } }])
  assert.deepEqual(await changesOf(root.client, 'eperson.unlink'), [{ before: { subject }, after: null }])
})

test('OP5 linked identities are listed page by page, in the order of addresses, with the total of all', async t => {
  const { service, put, root, uuid } = await started(t)
  const { uuid: ann } = await service.addEperson('Ann@example.org')
  const { uuid: zoe } = await service.addEperson('zoe@example.org')
  for (const [at, one] of [zoe, uuid, ann].entries())
    assert.equal((await put(`apache/${one}`, { subject: `s${at}` })).status, 201)
  const page = async (query: string) => {
    const body = await (await root.client.get(`${list}?${query}`)).json()
    const { _embedded, page } = body as {
      _embedded: { identities: { eperson: string }[] }
      page: { totalElements: number }
    }
    return [_embedded.identities.map(({ eperson }) => eperson), page.totalElements]
  }
  assert.deepEqual(await page('size=2'), [[ann, uuid], 3])
  assert.deepEqual(await page('size=2&page=1'), [[zoe], 3])
  assert.deepEqual(await page('page=9007199254740991&size=1000'), [[], 3])
  assert.deepEqual(await page(`eperson=${zoe}&size=1`), [[zoe], 1])
})

test('OP5 of two who are linked to one subject at once, one is', async t => {
  const { service, put, linked, uuid } = await started(t)
  const { uuid: max } = await service.addEperson('max@example.org')
  const wanted = [uuid, max, uuid, max, uuid, max]
  const answers = await Promise.all(wanted.map(one => put(`apache/${one}`, { subject: 's' })))
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  assert.equal((await linked()).length, 1)
  for (const answer of answers) await answer.arrayBuffer()
  // Several subjects for one eperson are linked at the same moment; at most one succeeds.
  const two = await Promise.all(['a', 'b', 'c'].map(one => put(`apache/${uuid}`, { subject: one })))
  assert.ok(two.filter(({ status }) => status === 201).length <= 1)
  assert.equal((await linked(`?eperson=${uuid}`)).length, 1)
})

test('OP5 a link that can’t be is refused with the reason, and nothing is linked', async t => {
  const { uuid, put, linked, root } = await started(t)
  const nobody = '00000000-0000-4000-8000-000000000000'
  await assertProblem(await put(`apache/${nobody}`, { subject }), 404, 'not-found')
  await assertProblem(await put('apache/someone', { subject }), 404, 'not-found')
  const missing = await put(`apach/${uuid}`, { subject })
  assert.match(((await missing.clone().json()) as { detail: string }).detail, /must be one of apache/)
  await assertProblem(missing, 404, 'not-found')
  for (const body of [
    {},
    { subject: 7 },
    { subject: '' },
    { subject: ' r1' },
    { subject: 'r\n1' },
    { subject: 'r\uFFFD' },
    { subject: 'r'.repeat(1_025) },
    { subject, entityId: 7 },
    { subject, entityId: 'https://idp.example.edu' },
    { subject, email: 'ruth@example.org' },
  ])
    await assertProblem(await put(`apache/${uuid}`, body), 422, 'change-refused')
  await assertProblem(await root.client.get(`${list}?eperson=ruth`), 400, 'bad-parameter')
  for (const other of ['apach', '%00', 'apache%00'])
    await assertProblem(await root.client.delete(`${list}/${other}/${uuid}`), 404, 'not-found')
  assert.deepEqual(await linked(), [])
})

test('OP5 without single sign-on there is no provider to be linked to', async t => {
  const service = await startService(t)
  const { uuid } = await service.addEperson('ruth@example.org')
  const { put, root } = await at(service)
  await assertProblem(await put(`apache/${uuid}`, { subject }), 404, 'not-found')
  const answer = await root.client.get('/api/admin/sso/providers')
  assert.deepEqual(await answer.json(), { providers: [] })
})

testOn('sqlite', 'OP5 X12 of a federation, the link names the identity provider, too', async t => {
  const member = { entityId: 'https://idp.lu.example/idp', address: 'https://idp.lu.example' }
  const metadata = signedAggregate([memberXml({ ...member, certificate: identity('lu').certificate })])
  const others = [{ ...provider, create: false }]
  const { env } = federationSettings(t, { metadata, settings: asFederation(), others })
  const service = await startService(t, { env: { ...env, PROXY_SECRET: secret.value } })
  const { uuid } = await service.addEperson('ruth@example.org')
  const { put, linked, root } = await at(service)
  const { providers } = (await (await root.client.get('/api/admin/sso/providers')).json()) as {
    providers: object[]
  }
  assert.deepEqual(providers, [
    { id: 'uni', name: 'The federation', kind: 'saml', method: 'shibboleth', federation: true },
    { id: 'apache', name: 'Apache', kind: 'proxy', method: 'shibboleth', federation: false },
  ])
  await assertProblem(await put(`uni/${uuid}`, { subject: 'r1@lu.example' }), 422, 'change-refused')
  await assertProblem(
    await put(`uni/${uuid}`, { subject: 'r1@lu.example', entityId: 'two words' }),
    422,
    'change-refused',
  )
  const entityId = member.entityId
  assert.equal((await put(`uni/${uuid}`, { subject: 'r1@lu.example', entityId })).status, 201)
  assert.deepEqual(await linked(), [[uuid, 'uni', `${entityId} r1@lu.example`]])
})

test('OP5 D2 sso link is the same by command, with the same refusals', async t => {
  const { service, uuid, linked, root, env } = await started(t)
  await service.addEperson('max@example.org')
  const run = (...args: string[]) => carrel(service.dataFolder, ['sso', 'link', ...args], { env })
  const { code, stdout } = await run('R.Example@work.example', 'apache', 'r1')
  assert.deepEqual([code, stdout], [0, 'R.Example@work.example is r1 at apache.\n'])
  assert.deepEqual(await linked(), [[uuid, 'apache', 'r1']])
  const again = await run('r.example@work.example', 'apache', 'r1', '--json')
  assert.equal(JSON.parse(again.stdout).linked, false)
  assert.match((await run('nobody@example.org', 'apache', 'r2')).stderr, /there is no eperson nobody/)
  assert.match((await run('max@example.org', 'apache', 'r1')).stderr, /this subject is another eperson/)
  assert.match((await run('r.example@work.example', 'apache', 'r2')).stderr, /is another subject there/)
  assert.match((await run('max@example.org', 'shib', 'r2')).stderr, /the provider must be one of apache/)
  assert.match((await run('max@example.org', 'apache', ' ')).stderr, /the subject must be a text/)
  const wrong = await run('max@example.org', 'apache', 'r2', '--entity-id', 'https://idp.example.edu')
  assert.match(wrong.stderr, /--entity-id is for federations/)
  assert.deepEqual(await changesOf(root.client, 'eperson.link'), [{ before: null, after: { subject: 'r1' } }])
})
