import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { administrator } from '../../support/clients/administrator.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { eventsOf } from '../../support/data/events.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env } })
  return { service, root: await administrator(service) }
}

// Tests read any member of a body.
async function json(client: Client, path: string): Promise<ReturnType<typeof JSON.parse>> {
  const response = await client.get(path)
  assert.equal(response.status, 200, path)
  return response.json()
}

test('OP1 the doctor says over HTTP what the command says, with no secret in it', async t => {
  const { service, root } = await started(t, {
    CARREL_METRICS_SECRET: 'a-secret-for-metrics-0123456789-0123456789',
    CARREL_TRUSTED_PROXIES: '64.0.0.0/4',
  })
  const { counts, findings } = await json(root.client, '/api/admin/doctor')
  type Finding = { level: string; about: string; what: string; advice: string | null }
  const found = findings as Finding[]
  assert.ok(found.some(({ level, about }) => level === 'warning' && about === 'proxy'))
  assert.ok(found.some(({ about, what }) => about === 'administrator' && what === '1 enabled administrator'))
  assert.equal(counts.warning, found.filter(({ level }) => level === 'warning').length)
  for (const { level, advice } of found) assert.equal(advice === null, level === 'ok' || advice === null)
  const { stdout } = await carrel(service.dataFolder, ['doctor', '--json'], {
    env: { CARREL_TRUSTED_PROXIES: '64.0.0.0/4' },
  })
  const said = JSON.parse(stdout) as Finding[]
  const names = (list: readonly Finding[]) => [...new Set(list.map(({ about }) => about))].toSorted()
  assert.deepEqual(names(found), names(said))
  const text = JSON.stringify(findings)
  assert.doesNotMatch(text, /a-secret-for-metrics/)
  const url = new URL(service.config.database.kind === 'postgres' ? service.config.database.url : 'x:')
  assert.ok(!text.includes(`:${url.password}@`))
})

test('OP1 doctors that are asked for at once are one, and a parameter is refused', async t => {
  const { root } = await started(t)
  const answers = await Promise.all(Array.from({ length: 12 }, () => root.client.get('/api/admin/doctor')))
  const bodies = await Promise.all(answers.map(one => one.text()))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  assert.equal(new Set(bodies).size, 1)
  await assertProblem(await root.client.get('/api/admin/doctor?full=1'), 400, 'bad-parameter')
})

test('OP3 figures count what happens, as the metrics do', async t => {
  const { service, root } = await started(t)
  await service.client().tryLogin('root@example.org', 'wrong')
  const before = await json(root.client, '/api/admin/figures')
  for (let n = 0; n < 3; n++) await root.client.get('/api/authn/status')
  await root.client.get('/api/admin/nothing')
  const after = await json(root.client, '/api/admin/figures')
  const password = after.logins.find(({ method }: { method: string }) => method === 'password')
  assert.deepEqual(password, { method: 'password', success: 1, failure: 1, throttled: 0 })
  const answered = (figures: typeof after, status: string) => figures.requests.answered[status] ?? 0
  assert.ok(answered(after, '2xx') - answered(before, '2xx') >= 3)
  assert.ok(answered(after, '4xx') > answered(before, '4xx'))
  const status = after.requests.routes.find(({ route }: { route: string }) => route.endsWith('/authn/status'))
  assert.equal(status.answered['2xx'], 3)
  assert.equal(status.duration.count, 3)
  assert.ok(status.duration.p50 > 0 && status.duration.p99 >= status.duration.p50)
  assert.equal(after.workers.running, 1)
  assert.ok(after.workers.loops[0].heapBytes > 0)
  assert.ok(after.memory.residentBytes > 0 && after.processor.seconds > 0)
  assert.ok(after.queues.some(({ queue }: { queue: string }) => queue === 'passwords'))
  assert.ok(Date.parse(after.started) <= Date.parse(after.time))
  assert.equal(after.store, service.config.database.kind)
})

test('OP4 backups of the operator’s folder are listed, whole and damaged ones, and one is read again as a process', async t => {
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  const { service, root } = await started(t, { CARREL_BACKUPS: folder })
  assert.deepEqual(await json(root.client, '/api/admin/backups'), {
    configured: true,
    process: null,
    backups: [],
  })
  const begin = async (script: string) => {
    const answer = await root.client.post(`/api/system/scripts/${script}/processes`)
    return root.ended({ status: answer.status, headers: answer.headers, body: await answer.json() })
  }
  const made = await begin('backup')
  assert.equal(made.state, 'completed')
  const { backups } = await json(root.client, '/api/admin/backups')
  assert.equal(backups.length, 1)
  const { name, complete, bytes, contents, lost } = backups[0]
  assert.deepEqual(
    { name, complete, contents, lost },
    { name: made.result?.name, complete: true, contents: 0, lost: 0 },
  )
  assert.ok(bytes > 0)
  const verified = await begin('verify-backups')
  assert.deepEqual([verified.state, verified.result], ['completed', { backups: 1, damaged: 0 }])

  // One manifest was changed, and another file was added.
  const [manifest = ''] = readdirSync(join(folder, 'backups'))
  writeFileSync(join(folder, 'backups', manifest), '{"made": "never"}')
  mkdirSync(join(folder, 'backups', 'folder.json'))
  const damaged = await json(root.client, '/api/admin/backups')
  assert.deepEqual(
    damaged.backups.map(({ complete: whole, fault }: { complete: boolean; fault: string }) => [whole, fault]),
    [
      [false, 'it is a folder (EISDIR)'],
      [false, 'its manifest is damaged, or of a newer Carrel'],
    ],
  )
  assert.ok(!JSON.stringify(damaged).includes(folder), 'no path of the machine')
  rmSync(join(folder, 'backups', 'folder.json'), { recursive: true })
  const again = await begin('verify-backups')
  assert.equal(again.result?.damaged, 1, String(again.fault))
  assert.deepEqual(service.config.backups, { kind: 'folder', folder })
})

test('OP4 where the operator has chosen no folder, there are no backups to list and none to read', async t => {
  const { root } = await started(t)
  assert.deepEqual(await json(root.client, '/api/admin/backups'), {
    configured: false,
    process: null,
    backups: [],
  })
  await assertProblem(
    await root.client.post('/api/system/scripts/verify-backups/processes'),
    404,
    'not-found',
  )
})

test('OP5 everybody is logged out at once, the one who asks as well, and the trail says who did it', async t => {
  const { service, root } = await started(t)
  const ruth = await service.addLoggedIn('ruth@example.org')
  assert.equal((await root.client.delete('/api/admin/sessions')).status, 204)
  assert.deepEqual([await ruth.isLoggedIn(), await root.client.isLoggedIn()], [false, false])
  await root.client.login('root@example.org')
  const [event] = await eventsOf(root.client, 'session.end')
  assert.deepEqual([event?.actor, event?.object, event?.eperson], [root.uuid, 'everybody', null])
})

test('OP5 T7 the secret is rotated, nobody is logged out, and a secret of the settings is left alone', async t => {
  const { root } = await started(t)
  const rotated = await root.client.post('/api/admin/secret/rotate')
  assert.deepEqual([rotated.status, await rotated.json()], [200, { accepted: 2 }])
  assert.equal(await root.client.isLoggedIn(), true)
  const [event] = await eventsOf(root.client, 'secret.rotate')
  assert.equal(event?.actor, root.uuid)
  const other = await started(t, { CARREL_TOKEN_SECRET: 'x'.repeat(64) })
  await assertProblem(await other.root.client.post('/api/admin/secret/rotate'), 409, 'secret-set')
})

test('OP5 access tokens of all epersons and identities are listed page by page, and an identity is removed', async t => {
  const { service, root } = await started(t)
  const { uuid } = await service.addEperson('ruth@example.org')
  const ruth = await service.loggedIn('ruth@example.org')
  const named = (name: string) =>
    ruth.post('/api/authn/tokens', JSON.stringify({ name }), { 'content-type': 'application/json' })
  await named('one')
  await named('two')
  const page = await json(root.client, '/api/admin/tokens?size=1&page=1')
  assert.equal(page.page.totalElements, 2)
  const [token] = page._embedded.tokens
  assert.deepEqual([token.name, token.eperson, 'token' in token], ['two', uuid, false])
  assert.equal((await root.client.delete(new URL(token._links.self.href).pathname)).status, 204)
  assert.equal((await json(root.client, '/api/admin/tokens')).page.totalElements, 1)

  const identity = {
    provider: 'uni',
    subject: 'r1',
    email: 'ruth@example.org',
    firstName: null,
    lastName: null,
  }
  const event = { event: 'login', outcome: 'success', eperson: null, actor: null } as const
  await service.storage.identities.recognize(
    identity,
    { byEmail: true, create: false },
    { ...event, clientIp: null, method: null, object: 'uni', reason: null },
  )
  const { _embedded: linked } = await json(root.client, '/api/admin/sso/identities')
  assert.deepEqual(
    linked.identities.map(({ linked: _, ...rest }: { linked: string }) => rest),
    [{ eperson: uuid, email: 'ruth@example.org', provider: 'uni', subject: 'r1' }],
  )
  const address = `/api/admin/sso/identities/uni/${uuid}`
  assert.equal((await root.client.delete(address)).status, 204)
  assert.equal(await ruth.isLoggedIn(), false)
  await assertProblem(await root.client.delete(address), 404, 'not-found')
  const [removed] = await eventsOf(root.client, 'eperson.unlink')
  assert.deepEqual([removed?.actor, removed?.eperson], [root.uuid, uuid])
})

test('OP7 the audit trail is verified and unused files are cleaned up as processes', async t => {
  const { root, service } = await started(t)
  const begin = async (script: string, properties?: string) => {
    const form = new FormData()
    form.set('properties', properties ?? '[]')
    const answer = await root.client.post(
      `/api/system/scripts/${script}/processes`,
      form as unknown as URLSearchParams,
    )
    return { status: answer.status, headers: answer.headers, body: await answer.json() }
  }
  const verified = await root.ended(await begin('verify-trail'))
  assert.deepEqual([verified.state, verified.result?.faults], ['completed', 0])
  const last = verified.result?.last as { name: string }
  const parameters = (value: string) => JSON.stringify([{ name: '--checkpoint', value }])
  const again = await root.ended(await begin('verify-trail', parameters(last.name)))
  assert.equal(again.result?.faults, 0)
  const strange = await root.ended(await begin('verify-trail', parameters(`1:${'0'.repeat(64)}`)))
  assert.equal(strange.result?.faults, 1)
  assert.equal((await begin('verify-trail', parameters('x'))).status, 400)

  const cleaned = await root.ended(await begin('clean'))
  assert.equal(cleaned.state, 'completed', String(cleaned.fault))
  assert.deepEqual(cleaned.result, { setAside: 0, broughtBack: 0, deleted: 0, leftovers: 0 })
  await assertScripts(service, root.client)
})

async function assertScripts(service: Service, client: Client): Promise<void> {
  const { _embedded: listed } = await json(client, '/api/system/scripts')
  assert.deepEqual(
    listed.scripts.map(({ name }: { name: string }) => name),
    ['clean', 'metadata-deletion', 'object-deletion', 'verify', 'verify-trail'],
  )
  assert.equal(service.config.backups, null)
}
