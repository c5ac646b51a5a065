import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createListeners } from '../../../src/admin/processes/events.ts'
import { createProcesses } from '../../../src/admin/processes/processes.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import { OperatorError } from '../../../src/lib/errors.ts'
import type { Run } from '../../../src/model/processes.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { eventsOf } from '../../support/data/events.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { baseUrl, startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const path = '/api/system/processes'

interface Body {
  readonly processId: string
  readonly userId: string | null
  readonly startTime: string | null
  readonly endTime: string | null
  readonly scriptName: string
  readonly processStatus: string
  readonly parameters: readonly { readonly name: string; readonly value: string }[]
  readonly state: string
  readonly result: Readonly<Record<string, unknown>> | null
  readonly fault: string | null
  readonly _links: Readonly<Record<string, { readonly href: string }>>
}

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true', ...env } })
  const { uuid: adminId } = await service.addEperson('admin@example.org', { admin: true })
  const { uuid: readerId } = await service.addEperson('reader@example.org')
  const admin = await service.loggedIn('admin@example.org')
  const reader = await service.loggedIn('reader@example.org')
  const runner = createProcesses(service.storage)
  return { service, admin, adminId, reader, readerId, runner }
}

const aborted = ({ signal }: Run) =>
  new Promise<null>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

async function ended(client: Client, id: number | string): Promise<Body> {
  return until(
    `the end of process ${id}`,
    async () => {
      const response = await client.get(`${path}/${id}`)
      assert.equal(response.status, 200)
      return (await response.json()) as Body
    },
    ({ endTime }) => endTime !== null,
  )
}

const remove = async (client: Client, address: string) =>
  client.request(address, { method: 'DELETE', headers: { 'x-xsrf-token': (await client.csrfPair()).value } })

const listed = async (client: Client, address: string): Promise<Body[]> => {
  const response = await client.get(address)
  assert.equal(response.status, 200, address)
  return ((await response.json()) as { _embedded: { processes: Body[] } })._embedded.processes
}

const properties = (...list: unknown[]) => {
  const form = new FormData()
  form.set('properties', JSON.stringify(list))
  return form as unknown as URLSearchParams
}

test('PR1 a process has the members that DSpace’s clients read, and links that work', async t => {
  const { admin, adminId, runner } = await started(t)
  const asked = { kind: 'verify', eperson: adminId, parameters: { a: 'b' } } as const
  await runner.follow(
    asked,
    async run => {
      run.log('a line')
      return { checked: 1 }
    },
    value => value,
  )
  const { id } = await runner.start(asked, () => Promise.reject(new OperatorError('the disk is full')))
  const failed = await ended(admin, id)
  assert.deepEqual(
    [failed.processStatus, failed.state, failed.fault],
    ['FAILED', 'failed', 'the disk is full'],
  )

  const [body] = await listed(admin, `${path}?sort=processId,asc`)
  assert.ok(body)
  assert.deepEqual(
    [body.userId, body.scriptName, body.processStatus, body.parameters, body.result],
    [adminId, 'verify', 'COMPLETED', [{ name: 'a', value: 'b' }], { checked: 1 }],
  )
  const answers: Record<string, unknown> = {}
  for (const [name, { href }] of Object.entries(body._links)) {
    const response = await admin.get(href.slice(baseUrl.length))
    assert.equal(response.status, 200, name)
    answers[name] = response.headers.get('content-type')?.startsWith('application/')
      ? await response.json()
      : await response.text()
  }
  assert.match(String(answers.log), /^\S+Z a line\n\S+Z completed\n$/)
  assert.match(
    String(answers.events),
    /^retry: 3000\n\nevent: log\nid: 1\ndata: .*a line.*\n\nevent: progress\n.*\n\nevent: end\n/,
  )
  const output = answers.output as { _links: { content: { href: string } }; type: string }
  assert.deepEqual([output.type, output._links.content.href], ['bitstream', body._links.log?.href])
  assert.deepEqual((answers.filetypes as { values: unknown }).values, [])
})

test('PR1 lists are for administrators; epersons see, cancel and remove what they began', async t => {
  const { admin, reader, readerId, runner } = await started(t)
  const own = await runner.start({ kind: 'ingest', eperson: readerId, parameters: {} }, aborted)
  const other = await runner.start({ kind: 'import', eperson: null, parameters: {} }, aborted)
  const idsIn = async (client: Client, address: string) =>
    (await listed(client, address)).map(({ processId }) => Number(processId))
  assert.deepEqual(await idsIn(admin, path), [other.id, own.id])
  assert.deepEqual(await idsIn(admin, `${path}?sort=startTime,asc`), [own.id, other.id])
  const search = `${path}/search/byProperty`
  assert.deepEqual(await idsIn(admin, `${search}?processStatus=RUNNING&sort=creationTime,DESC`), [
    other.id,
    own.id,
  ])
  assert.deepEqual(await idsIn(admin, `${search}?processStatus=COMPLETED`), [])
  assert.deepEqual(await idsIn(admin, `${search}?userId=${readerId}`), [own.id])
  assert.deepEqual(await idsIn(admin, `${search}?scriptName=import`), [other.id])
  assert.deepEqual(await idsIn(reader, `${path}/search/own`), [own.id])
  assert.deepEqual(await idsIn(admin, `${path}/search/own`), [])
  for (const wrong of [
    'processStatus=DONE',
    'userId=x',
    'scriptName=x',
    'processStatus=RUNNING&processStatus=FAILED',
  ])
    await assertProblem(await admin.get(`${search}?${wrong}`), 400, 'bad-parameter')
  for (const part of ['', '/output', '/files', '/filetypes', '/log', '/events']) {
    await assertProblem(await reader.get(`${path}/${other.id}${part}`), 403, 'access-denied')
    await assertProblem(await reader.get(`${path}/999${part}`), 403, 'access-denied')
    for (const id of ['999', 'x', '1e3', '9'.repeat(30)])
      await assertProblem(await admin.get(`${path}/${id}${part}`), 404, 'not-found')
  }
  await assertProblem(await remove(reader, `${path}/${own.id}`), 422, 'process-state')
  await assertProblem(await reader.post(`${path}/${other.id}/cancel`), 403, 'access-denied')
  assert.equal(
    (await reader.post(`${path}/${own.id}/cancel`, '{}', { 'content-type': 'application/json' })).status,
    202,
  )
  assert.equal((await ended(reader, own.id)).state, 'cancelled')
  await assertProblem(await reader.post(`${path}/${own.id}/cancel`), 422, 'process-state')
  await assertProblem(await reader.post(`${path}/${own.id}/resume`), 422, 'process-state')
  assert.equal((await remove(reader, `${path}/${own.id}`)).status, 204)
  await assertProblem(await admin.get(`${path}/${own.id}`), 404, 'not-found')
  assert.deepEqual(
    (await eventsOf(admin, 'process.cancel')).map(({ object, actor }) => [object, actor]),
    [[String(own.id), readerId]],
  )
  assert.equal((await eventsOf(admin, 'process.delete')).length, 1)
  await runner.close()
})

test('PR2 events tell of progress and lines as they come, go on after the last one, and end with the process', async t => {
  const { admin, service, runner, adminId } = await started(t)
  let finish = () => {}
  const { id } = await runner.start({ kind: 'import', eperson: adminId, parameters: {} }, async run => {
    run.log('first')
    run.progress({ done: 1, total: 2, unit: 'records' })
    await new Promise<void>(resolve => {
      finish = resolve
    })
    run.log('second')
    return null
  })
  const response = await admin.get(`${path}/${id}/events`)
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  let text = ''
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString()
    if (text.includes('"done":1')) finish()
  }
  assert.match(
    text,
    /id: 1\ndata: .*first[\s\S]*"done":1[\s\S]*id: 2\ndata: .*second[\s\S]*event: end\ndata: \{"state":"completed"/,
  )
  const rest = await (await admin.get(`${path}/${id}/events`, { 'last-event-id': '1' })).text()
  assert.ok(rest.includes('second') && !rest.includes('first'))
  for (const last of ['2147483648', '999999999999999']) {
    const end = await (await admin.get(`${path}/${id}/events`, { 'last-event-id': last })).text()
    assert.ok(end.includes('event: end') && !end.includes('event: log'), last)
  }

  // A client that logs out receives no more events. A short-lived token opens the stream for `EventSource`.
  const other = await runner.start({ kind: 'import', eperson: adminId, parameters: {} }, aborted)
  const listening = await admin.withShortLived(async token => {
    const answer = await service.client().get(`${path}/${other.id}/events?authentication-token=${token}`)
    assert.equal(answer.status, 200)
    return answer
  })
  await admin.post('/api/authn/logout')
  assert.ok(!(await listening.text()).includes('event: end'))
  await runner.close()
})

test('PR2 the number of listeners has a limit, and a service that stops ends them', async t => {
  const { admin, service, runner, adminId } = await started(t)
  const { id } = await runner.start({ kind: 'import', eperson: adminId, parameters: {} }, aborted)
  const open = await Promise.all(Array.from({ length: 50 }, () => admin.get(`${path}/${id}/events`)))
  assert.ok(open.every(({ status }) => status === 200))
  await assertProblem(await admin.get(`${path}/${id}/events`), 503, 'busy')
  await open[0]?.body?.cancel()
  await until(
    'a place for another listener',
    async () => {
      const next = await admin.get(`${path}/${id}/events`)
      await next.body?.cancel()
      return next.status
    },
    status => status === 200,
  )
  await runner.close()
  await Promise.all([service.app.close(), ...open.slice(1).map(one => one.text())])
})

test('PR2 clients that are gone before the first event leave room for others', async t => {
  const { admin, adminId, service, runner } = await started(t)
  const process = await runner.start({ kind: 'import', eperson: adminId, parameters: {} }, aborted)
  const listeners = createListeners(service.storage.processes)
  const open = () => listeners.events(process, 0, async () => true, new AbortController().signal)
  for (let at = 0; at < 200; at++) await open().return(undefined)
  const next = open()
  assert.ok(!(await next.next()).done)
  await next.return(undefined)
  listeners.close()
  await runner.close()
  assert.equal((await admin.get(path)).status, 200)
})

test('PR2 B3 what someone hears while they act for another ends with their own session', async t => {
  const { admin, readerId, runner } = await started(t)
  const { id } = await runner.start({ kind: 'import', eperson: readerId, parameters: {} }, aborted)
  const listening = await admin.get(`${path}/${id}/events`, { 'x-on-behalf-of': readerId })
  assert.equal(listening.status, 200)
  await admin.post('/api/authn/logout')
  assert.ok(!(await listening.text()).includes('event: end'))
  await runner.close()
})

test('PR2 S5 what someone hears ends when the alert allows administrators only, who hear on', async t => {
  const { service, admin, reader, readerId, runner } = await started(t)
  const { id } = await runner.start({ kind: 'import', eperson: readerId, parameters: {} }, aborted)
  const listening = await reader.get(`${path}/${id}/events`)
  const acting = await admin.get(`${path}/${id}/events`, { 'x-on-behalf-of': readerId })
  const alert = { message: 'x', allowSessions: 'admin', countdownTo: null, active: true } as const
  await service.storage.alerts.add(alert, commandEvent('alert.change'))
  assert.ok(!(await listening.text()).includes('event: end'))
  await service.storage.processes.cancel(id, commandEvent('process.cancel'))
  assert.ok((await acting.text()).includes('event: end'))
  await runner.close()
})

test('PR2 T3 what someone hears ends when their token expires', async t => {
  const { reader, readerId, runner } = await started(t, { CARREL_TOKEN_LIFETIME: '2' })
  const { id } = await runner.start({ kind: 'import', eperson: readerId, parameters: {} }, aborted)
  const listening = await until('an answer while the token lives', async () => {
    await reader.login('reader@example.org')
    const answer = await reader.get(`${path}/${id}/events`)
    if (answer.status !== 200) await answer.arrayBuffer()
    return answer.status === 200 ? answer : undefined
  })
  assert.ok(!(await listening?.text())?.includes('event: end'))
  await runner.close()
})

test('PR3 administrators begin checks and backups by name, as DSpace’s interface does', async t => {
  const backups = temporaryFolder(t, 'sqlite')
  const { admin, adminId } = await started(t, { CARREL_BACKUPS: backups })
  const scripts = (await (await admin.get('/api/system/scripts')).json()) as {
    _embedded: { scripts: { id: string }[] }
  }
  assert.deepEqual(
    scripts._embedded.scripts.map(({ id }) => id),
    ['backup', 'clean', 'metadata-deletion', 'object-deletion', 'verify', 'verify-backups', 'verify-trail'],
  )
  for (const { id } of scripts._embedded.scripts)
    assert.equal((await admin.get(`/api/system/scripts/${id}`)).status, 200)
  await assertProblem(await admin.get('/api/system/scripts/export'), 404, 'not-found')

  const begun = await admin.post('/api/system/scripts/verify/processes', properties())
  assert.equal(begun.status, 202)
  const { processId } = (await begun.json()) as Body
  assert.equal(begun.headers.get('location'), `${baseUrl}${path}/${processId}`)
  const verified = await ended(admin, processId)
  assert.deepEqual(
    [verified.state, verified.result, verified.userId],
    ['completed', { checked: 0, bytes: 0, missing: 0, damaged: 0 }, adminId],
  )

  const made = await admin.post(
    '/api/system/scripts/backup/processes',
    properties({ name: '--keep', value: '2' }),
  )
  assert.equal(made.status, 202)
  const backup = await ended(admin, ((await made.json()) as Body).processId)
  assert.equal(backup.state, 'completed', backup.fault ?? '')
  assert.deepEqual(backup.parameters, [{ name: '-k', value: '2' }])
  assert.ok(readdirSync(backups).length > 0)
  assert.deepEqual(
    (await eventsOf(admin, 'process.start')).map(({ actor, object }) => [actor, object]),
    [
      [adminId, processId],
      [adminId, backup.processId],
    ],
  )
  assert.deepEqual(
    (await eventsOf(admin, 'store.backup')).map(({ actor, object }) => [actor, object]),
    [[adminId, backup.result?.name]],
  )

  for (const [body, status] of [
    [properties({ name: '--to', value: '/etc' }), 400],
    [properties({ name: '-k', value: '0' }), 400],
    [properties({ name: '-k', value: '1' }, { name: '--keep', value: '2' }), 400],
    [properties({ value: '1' }), 400],
    [properties(...Array.from({ length: 30 }, () => ({ name: '-k', value: '1' }))), 400],
    [properties('x'.repeat(20_000)), 413],
  ] as const)
    assert.equal((await admin.post('/api/system/scripts/backup/processes', body)).status, status)
  const type = { 'content-type': 'multipart/form-data; boundary=x' }
  for (const text of [
    '',
    '--x',
    '--x\r\n\r\n',
    '--x\r\nContent-Disposition: form-data; name="properties"\r\n\r\n{}\r\n--x--\r\n',
  ])
    assert.ok(
      [202, 400].includes((await admin.post('/api/system/scripts/verify/processes', text, type)).status),
    )
  const file = new FormData()
  file.set('properties', new Blob(['[]']), 'a.json')
  assert.equal(
    (await admin.post('/api/system/scripts/verify/processes', file as unknown as URLSearchParams)).status,
    400,
  )
  await assertProblem(
    await admin.post('/api/system/scripts/import/processes', properties()),
    404,
    'not-found',
  )
})

test('PR3 without a folder for them, there are no backups over HTTP', async t => {
  const { admin } = await started(t)
  await assertProblem(
    await admin.post('/api/system/scripts/backup/processes', properties()),
    404,
    'not-found',
  )
})

test('PR4 a check that was interrupted is resumed as a new process', async t => {
  const { admin, adminId, service } = await started(t)
  const runner = createProcesses(service.storage)
  const { id } = await runner.start({ kind: 'verify', eperson: adminId, parameters: {} }, aborted)
  await assertProblem(await admin.post(`${path}/${id}/resume`), 422, 'process-state')
  await runner.close()
  const resumed = await admin.post(`${path}/${id}/resume`)
  assert.equal(resumed.status, 202)
  const next = await ended(admin, ((await resumed.json()) as Body).processId)
  assert.deepEqual([next.state, next.parameters], ['completed', [{ name: 'resumes', value: String(id) }]])
  await assertProblem(await admin.post(`${path}/${next.processId}/resume`), 422, 'process-state')
  const imported = await createProcesses(service.storage)
  const lost = await imported.start({ kind: 'import', eperson: adminId, parameters: {} }, aborted)
  await imported.close()
  await assertProblem(await admin.post(`${path}/${lost.id}/resume`), 422, 'process-state')
})

test('PR5 what runs on the command line is in the list', async t => {
  const { admin, service } = await started(t)
  const folder = temporaryFolder(t, 'sqlite')
  const file = join(folder, 'books.ndjson')
  writeFileSync(file, '{"id": 1}\n{"id": 2}\n')
  const bad = join(folder, 'bad.ndjson')
  writeFileSync(bad, '{"id": 1}\n{"id": 1\n')
  const items = join(folder, 'items')
  mkdirSync(items)
  writeFileSync(join(items, 'manifest.csv'), 'identifier,dc.title,files\none,One,missing.txt\n')
  const run = (...args: string[]) => carrel(service.dataFolder, args)
  assert.equal((await run('import', file, '--entity', 'books', '--key', 'id')).code, 0)
  assert.equal((await run('import', bad, '--entity', 'books', '--key', 'id')).code, 1)
  assert.equal((await run('ingest', items)).code, 1)
  assert.equal((await run('ingest', items, '--dry-run')).code, 1)
  assert.equal((await run('files', 'verify')).code, 0)
  assert.equal((await run('backup', join(folder, 'backups'))).code, 0)
  assert.equal((await run('files', 'clean')).code, 0)
  assert.equal((await run('files', 'move', '--to', join(folder, 'moved'))).code, 0)
  assert.equal((await run('events', 'verify')).code, 0)
  const all = await listed(admin, `${path}?sort=processId,asc`)
  assert.deepEqual(
    all.map(({ scriptName, state, userId }) => [scriptName, state, userId]),
    [
      ['import', 'completed', null],
      ['import', 'failed', null],
      ['ingest', 'completed', null],
      ['verify', 'completed', null],
      ['backup', 'completed', null],
      ['clean', 'completed', null],
      ['move', 'completed', null],
      ['verify-trail', 'completed', null],
    ],
  )
  assert.deepEqual(all[0]?.result, { entity: 'books', records: 2 })
  assert.match(all[1]?.fault ?? '', /line 2/)
  assert.deepEqual(all[2]?.result, { added: 0, changed: 0, unchanged: 0, failed: 1 })
  const log = await (await admin.get(`${path}/${all[2]?.processId}/log`)).text()
  assert.match(log, /missing\.txt/)
})
