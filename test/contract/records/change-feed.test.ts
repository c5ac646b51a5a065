import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { commandEvent } from '../../../src/cli/store.ts'
import type { ReadRule } from '../../../src/model/entities.ts'
import type { KeptVersion } from '../../../src/model/kept-versions.ts'
import type { RecordEntity } from '../../../src/storage/entities.ts'
import { fold } from '../../../src/storage/records/folding.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { list } from '../../support/clients/listings.ts'
import {
  type ChangeLine,
  changesSince,
  feedPath,
  type Stream,
  snapshotOf,
  streamOf,
} from '../../support/data/changes.ts'
import { changeText, ndjson } from '../../support/data/imports.ts'
import { deleteRecord, putRecord } from '../../support/data/record-writes.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { withSpecialGroups } from '../../support/service/configuration.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const writer = 'writer@example.org'
const works = (count: number, title = 'work') =>
  Array.from({ length: count }, (_, at) => ({ id: at + 1, title: `${title} ${at + 1}` }))

async function started(
  t: TestContext,
  records: readonly object[] = works(5),
  env: Readonly<Record<string, string>> = {},
) {
  const service = await startService(t, { env })
  await service.addEperson(writer)
  await service.addRecords('works', 'id', records)
  await service.storage.entities.changeWriteRule('works', 'eperson', commandEvent('entity.writers'))
  const client = await service.loggedIn(writer)
  return { service, client }
}

async function foldNow({ storage: { entities } }: Service): Promise<void> {
  await fold((await entities.all()).get('works') as RecordEntity, entities)
}

const changeRead = ({ storage: { entities } }: Service, read: ReadRule) =>
  entities.changeReadRule('works', read, commandEvent('entity.access'))

test('Q39 what was added, changed and deleted since a snapshot comes in order, across folds, with a new snapshot', async t => {
  const { service, client } = await started(t)
  const start = await snapshotOf(client, 'works')
  await putRecord(client, 'works', 6, { title: 'six' })
  await putRecord(client, 'works', 1, { title: 'one' })
  await foldNow(service)
  await deleteRecord(client, 'works', 2)
  const { changes, snapshot } = await changesSince(client, 'works', start)
  assert.deepEqual(changes, [
    { change: 'added', key: 6, record: { title: 'six', id: 6 } },
    { change: 'changed', key: 1, record: { title: 'one', id: 1 } },
    { change: 'deleted', key: 2 },
  ])
  assert.deepEqual(await changesSince(client, 'works', snapshot), { changes: [], snapshot })
  assert.deepEqual(await changesSince(client, 'works', 'now'), { changes: [], snapshot })
})

/** A copy of the records, kept by applying changes. */
type Copy = Map<unknown, Readonly<Record<string, unknown>>>

function apply(copy: Copy, changes: readonly ChangeLine[]): Copy {
  const now = new Map(copy)
  for (const { change, key, record } of changes) {
    if (change === 'deleted') assert.ok(now.delete(key), `${key} is there`)
    else now.set(key, record ?? {})
  }
  return now
}

test('Q39 a copy that is kept by changes equals the records, after writes, folds, imports, updates and restored versions', async t => {
  const { service, client } = await started(t, works(600))
  const records = async (): Promise<Copy> =>
    new Map((await list(client, 'works')).map(record => [record.id, record]))
  const update = (some: readonly object[], kind: 'update' | 'delete') =>
    changeText(service, ndjson(some), { entity: 'works', kind })
  const restore = async () => {
    const [version] = (await service.storage.entities.versions('works')) as readonly KeptVersion[]
    assert.ok(version)
    await service.storage.entities.restore('works', version.id, commandEvent('entity.restore'))
  }
  const steps: readonly (() => Promise<unknown>)[] = [
    () => putRecord(client, 'works', 3, { title: 'written' }),
    () => foldNow(service),
    () => deleteRecord(client, 'works', 599),
    () =>
      update(
        [
          { id: 4, title: 'updated' },
          { id: 700, title: 'new' },
        ],
        'update',
      ),
    () => putRecord(client, 'works', 5, { title: 'written again' }),
    () => update([{ id: 10 }, { id: 11 }], 'delete'),
    () => foldNow(service),
    restore,
    () => putRecord(client, 'works', 0, { title: 'first' }),
    () => update([{ id: 12, title: 'after a restore' }], 'update'),
    () => service.addRecords('works', 'id', works(500, 'imported')),
    () => putRecord(client, 'works', 6, { title: 'over an import' }),
    restore,
  ]
  const known: { readonly snapshot: string; readonly copy: Copy }[] = []
  for (const [at, step] of steps.entries()) {
    known.push({ snapshot: await snapshotOf(client, 'works'), copy: await records() })
    await step()
    const now = await records()
    for (const [from, { snapshot, copy }] of known.entries()) {
      const { changes } = await changesSince(client, 'works', snapshot)
      const kept = apply(copy, changes)
      assert.deepEqual(
        [...kept.values()].sort((one, other) => Number(one.id) - Number(other.id)),
        [...now.values()],
        `from step ${from} to ${at}`,
      )
    }
  }
  // Each record that differs comes once, in the order of the key.
  const { changes } = await changesSince(client, 'works', known[9]?.snapshot ?? '')
  const keys = changes.map(({ key }) => Number(key))
  assert.deepEqual(
    keys,
    keys.toSorted((one, other) => one - other),
  )
})

test('Q39 what cannot be told is refused: another entity, a table, a key that changed, a snapshot that is none', async t => {
  const { service, client } = await started(t)
  const start = await snapshotOf(client, 'works')
  await service.addRecords('others', ['one', 'two'], [{ one: 1, two: 'a' }])
  await assertProblem(await client.get(feedPath('others', start)), 400, 'bad-parameter')
  await assertProblem(await client.get(feedPath('works', 'none')), 400, 'bad-parameter')
  await assertProblem(await client.get(feedPath('items', 'now')), 404, 'not-found')
  await assertProblem(await client.get(`${feedPath('works', start)}&limit=1`), 400, 'bad-parameter')
  await assertProblem(
    await client.get(feedPath('works', start), { accept: 'text/csv' }),
    406,
    'not-acceptable',
  )
  // Without `since`, it is the record with that key.
  await assertProblem(await client.get(feedPath('works')), 404, 'not-found')
  await service.addRecords('named', 'name', [{ name: 'changes' }])
  assert.deepEqual(await (await client.get(feedPath('named'))).json(), { name: 'changes' })
  // A key of several fields is a list.
  const { snapshot } = await changesSince(client, 'others', 'now')
  await service.addRecords('others', ['one', 'two'], [{ one: 2, two: 'b' }])
  assert.deepEqual(
    (await changesSince(client, 'others', snapshot)).changes.map(({ key }) => key),
    [
      [1, 'a'],
      [2, 'b'],
    ],
  )
  await service.addRecords('works', 'title', works(5))
  await assertProblem(await client.get(feedPath('works', start)), 410, 'snapshot-expired')
})

test('Q39 a stream stays open, tells of changes as they come, and goes on after its last id', async t => {
  const { service, client } = await started(t)
  const stream = await streamOf(client, 'works')
  assert.equal(stream.response.headers.get('content-type'), 'text/event-stream')
  assert.equal((await stream.next())?.event, 'snapshot')
  await putRecord(client, 'works', 1, { title: 'one' })
  await putRecord(client, 'works', 2, { title: 'two' })
  assert.deepEqual(
    (await stream.changes(2)).map(({ key }) => key),
    [1, 2],
  )
  const { id } = stream
  stream.close()
  await putRecord(client, 'works', 3, { title: 'three' })
  const next = await streamOf(client, 'works', { since: 'now', lastEventId: id })
  assert.deepEqual(
    (await next.changes(1)).map(({ key }) => key),
    [3],
  )
  await service.addRecords('works', 'id', [...works(2, 'imported'), { id: 3, title: 'three' }])
  const [one, two, ...gone] = await next.changes(4)
  assert.deepEqual(
    [one?.change, two?.change, ...gone.map(({ change, key }) => [change, key])],
    ['changed', 'changed', ['deleted', 4], ['deleted', 5]],
  )
  // The last id leads to where the import does.
  assert.equal(next.id, (await changesSince(client, 'works', 'now')).snapshot)
  next.close()
})

test('Q40 rights are those of now: a stream ends with the session, the right to read, and the entity, and tells nothing more', async t => {
  const { service, client } = await started(t)
  const other = service.client()
  const { uuid } = await service.addEperson('other@example.org', { groups: ['others'] })
  const root = await service.addLoggedIn('root@example.org', { admin: true })
  await changeRead(service, 'group:others')
  const start = await (async () => {
    await other.login('other@example.org')
    return snapshotOf(other, 'works')
  })()
  await assertProblem(await client.get(feedPath('works', start)), 403, 'access-denied')
  await assertProblem(await service.client().get(feedPath('works', start)), 401, 'authentication-required')
  const ends: readonly (readonly [name: string, end: () => Promise<unknown>, rule?: ReadRule])[] = [
    ['the right to read', () => changeRead(service, 'admin')],
    ['the right of one eperson', () => changeRead(service, 'admin'), `eperson:${uuid}`],
    [
      'the group',
      () => service.storage.people.leave('others', 'other@example.org', commandEvent('group.leave')),
    ],
    ['the session', () => other.post('/api/authn/logout')],
  ]
  for (const [name, end, rule = 'group:others'] of ends) {
    await changeRead(service, rule)
    await service.storage.people.join('others', 'other@example.org', commandEvent('group.join'))
    await other.login('other@example.org')
    const stream = await streamOf(other, 'works')
    assert.equal((await stream.next())?.event, 'snapshot', name)
    await end()
    await putRecord(root, 'works', 1, { title: `after ${name}` })
    assert.equal(await stream.next(), undefined, name)
  }
  await changeRead(service, 'anonymous')
  const stream = await streamOf(service.client(), 'works')
  await stream.next()
  await service.storage.entities.drop('works', commandEvent('entity.drop'))
  assert.equal(await stream.next(), undefined)
})

test('Q40 a stream of a client without a login goes on while its address gives it the group that may read', async t => {
  const env = withSpecialGroups(t, { ip: [{ group: 'campus', ranges: ['0.0.0.0/0', '::/0'] }] })
  const { service, client } = await started(t, works(5), env)
  await changeRead(service, 'group:campus')
  const stream = await streamOf(service.client(), 'works')
  assert.equal((await stream.next())?.event, 'snapshot')
  for (let n = 1; n <= 3; n++) {
    // Rights are looked up again meanwhile.
    await pause(1_100)
    await putRecord(client, 'works', n, { title: `written ${n}` })
    assert.deepEqual(
      (await stream.changes(1)).map(({ key }) => key),
      [n],
    )
  }
  await changeRead(service, 'admin')
  assert.equal(await stream.next(), undefined)
})

test('Q41 a client has 16 streams, and a place is free again after any end; a client that never reads is held back and holds up nobody', async t => {
  const { service, client } = await started(t, works(50))
  /** Opens streams until one is refused, and closes them. */
  const places = async () => {
    for (let count = 0, all: Stream[] = []; ; count++) {
      const next = await streamOf(client, 'works')
      if (next.response.status === 200) {
        all = [...all, next]
        continue
      }
      assert.equal(next.response.status, 503)
      for (const one of all) one.close()
      return count
    }
  }
  const sixteen = () => until('16 places', places, count => count === 16)
  for (let round = 0; round < 3; round++) {
    await sixteen()
    // A refusal of another kind takes no place.
    for (let n = 0; n < 20; n++)
      await assertProblem(
        await client.get(feedPath('works', 'none'), { accept: 'text/event-stream' }),
        400,
        'bad-parameter',
      )
  }
  // Connections that are gone before the answer begins, again and again.
  for (let n = 0; n < 100; n++) {
    const controller = new AbortController()
    const asked = client.request(feedPath('works'), {
      headers: { accept: 'text/event-stream' },
      signal: controller.signal,
    })
    setTimeout(() => controller.abort(), n % 5)
    await asked.catch(() => {})
  }
  const sockets: Socket[] = []
  service.app.server.on('connection', socket => sockets.push(socket))
  const deaf = connect(Number(new URL(service.address).port), '127.0.0.1')
  atEnd(t, () => deaf.destroy())
  deaf.on('error', () => {})
  deaf.pause()
  const { token } = client
  deaf.write(
    `GET ${feedPath('works')} HTTP/1.1\r\nHost: ${new URL(baseUrl).host}\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\n\r\n`,
  )
  // The place of the client that does not read is taken; all others are free.
  await until('15 places', places, count => count === 15)
  const hearing = await until(
    'a place',
    () => streamOf(client, 'works'),
    ({ response }) => response.status === 200,
  )
  await hearing.next()
  const long = 'x'.repeat(200_000)
  for (let n = 1; n <= 40; n++) await putRecord(client, 'works', n, { title: `${n} ${long}` })
  assert.deepEqual(
    (await hearing.changes(40)).map(({ key }) => key),
    works(40).map(({ id }) => id),
  )
  const waiting = sockets.map(({ writableLength }) => writableLength)
  assert.ok(Math.max(...waiting) < 1_000_000, `${waiting} bytes wait for their clients`)
})

test('Q39 a wrong snapshot is blamed on what had it, and the address without since says what it takes', async t => {
  const { client } = await started(t)
  const path = '/api/query/v4/works/changes'
  for (const [asked, headers, parameter] of [
    ['?since=yesterday', {}, 'since'],
    ['?since=now', { 'last-event-id': 'yesterday' }, 'Last-Event-ID'],
    ['', { accept: 'text/event-stream', 'last-event-id': 'yesterday' }, 'Last-Event-ID'],
  ] as const) {
    const problem = await assertProblem(await client.get(path + asked, headers), 400, 'bad-parameter')
    assert.equal((problem as { parameter?: string }).parameter, parameter)
    assert.match(problem.detail ?? '', new RegExp(parameter))
    assert.doesNotMatch(problem.detail ?? '', /snapshot/)
  }
  const missing = await assertProblem(await client.get(path), 404, 'not-found')
  assert.match(missing.detail ?? '', /with the parameter since: a snapshot, or now/)
})
