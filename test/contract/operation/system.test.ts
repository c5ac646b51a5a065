import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { emptyLists } from '../../../src/dspace/empty-answers.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { addItem } from '../../support/data/repository.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

const json = { 'content-type': 'application/json' }

async function started(t: TestContext) {
  const service = await startService(t)
  const admin = await service.addLoggedIn('admin@example.org', { admin: true })
  const ruth = await service.addLoggedIn('ruth@example.org')
  const nobody = service.client()
  return { service, admin, ruth, nobody }
}

const alerts = '/api/system/systemwidealerts'
const alert = { message: 'Back at noon', allowSessions: 'all', countdownTo: null, active: true }
const send = (client: Client, method: 'POST' | 'PUT', path: string, body: object) =>
  client.csrfPair().then(({ value }) =>
    client.request(path, {
      method,
      body: JSON.stringify(body),
      headers: { ...json, 'x-xsrf-token': value },
    }),
  )
const activeFor = async (client: Client) => {
  const body = (await (await client.get(`${alerts}/search/active`)).json()) as {
    _embedded: { systemwidealerts: { message: string }[] }
  }
  return body._embedded.systemwidealerts.map(({ message }) => message)
}

test('S5 an alert is seen by everybody while it is active', async t => {
  const { admin, ruth, nobody } = await started(t)
  assert.deepEqual(await activeFor(nobody), [])
  const added = await send(admin, 'POST', alerts, { ...alert, countdownTo: '2027-01-01T01:00:00+01:00' })
  assert.equal(added.status, 201, await added.clone().text())
  const { alertId, countdownTo } = (await added.json()) as { alertId: number; countdownTo: string }
  assert.equal(countdownTo, '2027-01-01T00:00:00.000Z')
  const own = `${alerts}/${alertId}`
  assert.equal(added.headers.get('location'), baseUrl + own)
  assert.deepEqual(await activeFor(nobody), ['Back at noon'])
  await assertProblem(await send(admin, 'POST', alerts, alert), 422, 'change-refused')
  // The interface's form adds the alert twice: with its switch, and with its button.
  const again = await send(admin, 'POST', alerts, { ...alert, countdownTo: '2027-01-01T00:00:00Z' })
  assert.equal(again.status, 201)
  assert.deepEqual(await again.json(), await (await admin.get(own)).json())

  for (const wrong of [{ message: 1 }, { active: 'yes' }, { allowSessions: 'none' }, { countdownTo: 'soon' }])
    await assertProblem(await send(admin, 'PUT', own, { ...alert, ...wrong }), 422, 'change-refused')
  // The interface's form sends null for values that the user hasn't set.
  assert.equal((await send(admin, 'PUT', own, { ...alert, allowSessions: null, active: null })).status, 200)
  assert.deepEqual(await activeFor(ruth), [])
  await assertProblem(await ruth.get(own), 404, 'not-found')
  assert.equal((await admin.get(own)).status, 200)
  await assertProblem(await send(admin, 'PUT', `${alerts}/99`, alert), 404, 'not-found')
})

test('S7 administrators read the audit trail in DSpace’s words, page by page and of one object', async t => {
  const { service, admin } = await started(t)
  const { uuid } = await addItem(service, { identifier: 'letter' })
  type Event = {
    id: string
    eventType: string
    subjectUUID: string | null
    _links: Record<string, { href: string }>
  }
  const page = async (path: string) => {
    const response = await admin.get(path)
    assert.equal(response.status, 200, path)
    return (await response.json()) as {
      _embedded: { auditevents: Event[] }
      page: { totalElements: number }
    }
  }
  const path = '/api/system/auditevents'
  const all = await page(`${path}?size=2`)
  assert.equal(all._embedded.auditevents.length, 2)
  assert.ok(all.page.totalElements > 3)
  const [newest, older] = all._embedded.auditevents.map(({ id }) => Number(id))
  assert.ok((newest ?? 0) > (older ?? 0), 'newest first')
  const [login] = (await page(`${path}?size=100&sort=timeStamp,asc`))._embedded.auditevents.filter(
    ({ eventType }) => eventType === 'login',
  )
  assert.ok(login)
  for (const { href } of Object.values(login._links)) {
    const { status } = await admin.get(href.slice(baseUrl.length))
    assert.ok(status === 200 || status === 204, href)
  }
  const found = await page(`${path}/search/findByObject?object=letter`)
  assert.deepEqual(
    found._embedded.auditevents.map(({ eventType }) => eventType),
    ['item.add'],
  )
  assert.ok(uuid)
  for (const wrong of ['0', 'x', '-1', '999999999999999', '9'.repeat(30)])
    await assertProblem(await admin.get(`${path}/${wrong}`), 404, 'not-found')
})

test('S8 administrators read how the parts of the service are', async t => {
  const { admin } = await started(t)
  const health = (await (await admin.get('/actuator/health')).json()) as {
    status: string
    components: Record<string, { status: string }>
  }
  assert.equal(health.status, 'UP')
  assert.deepEqual(Object.keys(health.components), ['store', 'files', 'workers'])
  const info = (await (await admin.get('/actuator/info')).json()) as { app: { name: string } }
  assert.equal(info.app.name, 'Carrel')
})

test('P4 every link of the root leads somewhere: no page of the interface waits for ever', async t => {
  const { nobody } = await started(t)
  const { _links } = (await (await nobody.get('/api')).json()) as { _links: Record<string, { href: string }> }
  const linked = new Map(Object.entries(_links).map(([name, { href }]) => [name, href]))
  // The interface looks for these names (`super('…')` of its data services).
  for (const name of [
    ...['auditevents', 'bitstreams', 'bundles', 'claimedtasks', 'ldnservices', 'metadatafields'],
    ...['metadataschemas', 'orcidhistories', 'orcidqueues', 'pooltasks', 'processes', 'registrations'],
    ...['resourcepolicies', 'scripts', 'subscriptions', 'suggestionsources', 'suggestiontargets'],
    ...['supervisionorders', 'systemwidealerts', 'usagereports', 'versionhistories', 'vocabularies'],
    ...['workflowitems', 'workspaceitems'],
  ])
    assert.ok(linked.has(name), name)
  for (const [name, { path, searches = [] }] of Object.entries(emptyLists))
    for (const url of [path, ...searches.map(search => `${path}/search/${search}`)]) {
      assert.equal(linked.get(name), `${baseUrl}/api${path}`)
      const body = (await (await nobody.get(`/api${url}?size=5`)).json()) as {
        _embedded: Record<string, unknown>
        page: { totalElements: number }
      }
      assert.deepEqual([body._embedded, body.page.totalElements], [{ [name]: [] }, 0], url)
    }
  const settings = await (await nobody.get('/api/core/securitysettings/none')).json()
  assert.deepEqual(settings.metadataCustomSecurity, {})
})
