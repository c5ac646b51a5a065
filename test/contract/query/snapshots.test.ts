import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import type { RecordEntity } from '../../../src/storage/entities.ts'
import { fold } from '../../../src/storage/records/folding.ts'
import { openDatabase } from '../../../src/storage/sqlite/driver.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { linksOf, listPath, type Parameters } from '../../support/clients/listings.ts'
import { changeText, importText, leftoversIn, ndjson } from '../../support/data/imports.ts'
import { deleteRecord, putRecord } from '../../support/data/record-writes.ts'
import { databaseOf, runOnStore, runSqlIn, test } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

interface Work {
  readonly id: number
  readonly title: string
}
const works = (count: number, title: string): Work[] =>
  Array.from({ length: count }, (_, at) => ({ id: at + 1, title: `${title} ${at + 1}` }))

const entityIn = async ({ storage }: Service, name = 'works') =>
  (await storage.entities.all()).get(name) as RecordEntity

/** Folds the changes of an entity into a new version. */
const foldIn = async (service: Service, name = 'works') =>
  assert.equal(await fold(await entityIn(service, name), service.storage.entities), true)

/** Makes what is held older. */
const age = (service: Service, seconds: number) =>
  runOnStore(service, `UPDATE held_version SET at = at - ${seconds * 1000}`)

/** Number of versions that are held. */
async function heldIn({ dataFolder }: Service): Promise<number> {
  if ((await databaseOf(dataFolder)) !== undefined)
    return (await runSqlIn(dataFolder, 'SELECT version FROM carrel.held_version')).length
  const db = openDatabase(join(dataFolder, 'carrel.db'), { mode: 'read' })
  const { length } = db.all('SELECT version FROM held_version')
  db.close()
  return length
}

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const service = await startService(t, { env })
  const root = await administrator(service)
  const imports = (records: readonly object[], entity = 'works') =>
    importText(service, ndjson(records), { entity, key: 'id', replace: true, read: 'anonymous' })
  const writable = (entity = 'works') =>
    service.storage.entities.changeWriteRule(entity, 'admin', commandEvent('entity.writers'))
  const get = (parameters: Parameters = {}, entity = 'works') =>
    service.client().get(listPath(entity, parameters))
  const list = async (parameters: Parameters = {}, entity = 'works') => {
    const response = await get(parameters, entity)
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return { records: JSON.parse(text) as Work[], response, snapshot: response.headers.get('x-snapshot') }
  }
  /** The records of all pages, each found by the link of the one before. */
  const traversed = async (first: Response, between: () => Promise<unknown>) => {
    const records: Work[] = []
    const totals = new Set<string | null>()
    let next: Response | undefined = first
    while (next) {
      assert.equal(next.status, 200)
      records.push(...((await next.json()) as Work[]))
      totals.add(next.headers.get('x-records'))
      const link: string | undefined = linksOf(next).next
      await between()
      next = link === undefined ? undefined : await service.client().get(link)
    }
    return { records, totals: [...totals] }
  }
  return { service, root, imports, writable, get, list, traversed }
}

test('Q35 pages of a list hold still, whatever is imported, written, deleted, folded or restored in between', async t => {
  const { service, root, imports, writable, get, list, traversed } = await started(t)
  await imports(works(25, 'old'))
  await writable()
  await putRecord(root.client, 'works', 3, { id: 3, title: 'written' })
  const order = { order_by: [{ field: 'title', order: 'desc' }] }
  const { records: before } = await list(order)
  const steps = [
    () => deleteRecord(root.client, 'works', 7),
    () => putRecord(root.client, 'works', 99, { id: 99, title: 'a new one' }),
    () => foldIn(service),
    () => putRecord(root.client, 'works', 4, { id: 4, title: 'zzz' }),
    () => foldIn(service),
    () => imports(works(5, 'new').map(work => ({ ...work, year: 1900 }))),
    () => changeText(service, ndjson([{ id: 2, title: 'by file' }]), { entity: 'works', kind: 'update' }),
    async () => {
      const versions = await service.storage.entities.versions('works')
      const { id = 0 } = versions.find(one => one.records === 25) ?? {}
      assert.equal((await root.send('POST', `/works/versions/${id}/restore`)).status, 204)
    },
    () => deleteRecord(root.client, 'works', 1),
  ]
  const first = await get({ ...order, limit: 3, include_total: true })
  const found = await traversed(first, async () => steps.shift()?.())
  assert.equal(steps.length, 0)
  assert.deepEqual(found.records, before)
  assert.deepEqual(found.totals, ['25'])
  assert.notDeepEqual((await list(order)).records, before)
})

test('Q35 every question about imported records has a snapshot, and is answered from it', async t => {
  const { service, imports, list, get } = await started(t)
  await imports(works(20, 'work'))
  await imports(works(4, 'artist'), 'artists')
  const questions = [
    { query: ['>', 'id', 10] },
    { query: ['extract', ['id', ['function', 'count']], ['group_by', 'id']] },
    { query: ['in', 'id', ['from', 'artists', ['extract', 'id']]], include_total: true },
    { order_by: [{ field: 'title', order: 'desc' }], limit: 2, offset: 3, include_total: true },
    { query: ['~', 'title', '7'] },
  ]
  const taken = []
  for (const question of questions) taken.push({ question, ...(await list(question)) })
  await imports(works(3, 'other'))
  await imports(works(1, 'nobody'), 'artists')
  for (const { question, records, response, snapshot } of taken) {
    const again = await list({ ...question, snapshot: snapshot ?? '' })
    assert.deepEqual(again.records, records)
    for (const name of ['x-snapshot', 'x-records', 'etag', 'link'])
      assert.equal(again.response.headers.get(name), response.headers.get(name), name)
    assert.notDeepEqual((await list(question)).records, records)
  }
  const client = service.client()
  const pql = 'works[id, title] { id in artists[id] {} order by id }'
  const snapshot = taken[2]?.snapshot ?? ''
  const posted = await client.request('/api/query/v4', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/csv' },
    body: JSON.stringify({ query: pql, snapshot }),
  })
  assert.equal(
    await posted.text(),
    `id,title\r\n${works(4, 'work')
      .map(one => `${one.id},${one.title}\r\n`)
      .join('')}`,
  )
  // A snapshot of several entities is one of each of them, and one of a single entity is none of another.
  assert.equal((await list({ snapshot })).records.length, 20)
  const one = taken[0]?.snapshot ?? ''
  for (const [parameters, entity] of [
    [{ snapshot: one }, 'artists'],
    [{ snapshot: one, ...questions[2] }, 'works'],
    [{ snapshot: one.slice(0, -1) }, 'works'],
    [{ snapshot: `${one}A` }, 'works'],
    [{ snapshot: `${one.startsWith('A') ? 'B' : 'A'}${one.slice(1)}` }, 'works'],
    [{ snapshot: `${one}=` }, 'works'],
    [{ snapshot: 'x'.repeat(4_000) }, 'works'],
    [{ snapshot: '' }, 'works'],
  ] as const)
    await assertProblem(await get(parameters, entity), 400, 'bad-parameter')
})

test('Q36 a snapshot shows only what the caller may read at the moment', async t => {
  const { service, root, imports, list, get } = await started(t)
  await imports(works(5, 'open'))
  await imports([{ id: 3 }], 'secrets')
  const both = { query: ['in', 'id', ['from', 'secrets', ['extract', 'id']]] }
  const { snapshot: ofBoth } = await list(both)
  const { snapshot } = await list({ limit: 2 })
  await imports(works(2, 'other'))
  const { entities } = service.storage
  const pinned = { snapshot: snapshot ?? '' }
  await entities.describe('works', { defaultCondition: '[">", "id", 3]' }, commandEvent('entity.change'))
  assert.deepEqual(
    (await list(pinned)).records.map(({ id }) => id),
    [4, 5],
  )
  await entities.changeReadRule('secrets', 'admin', commandEvent('entity.access'))
  await assertProblem(await get({ ...both, snapshot: ofBoth ?? '' }), 400, 'bad-parameter')
  await imports(works(1, 'other'), 'others')
  const ofOthers = await assertProblem(await get({ snapshot: ofBoth ?? '' }, 'others'), 400, 'bad-parameter')
  assert.doesNotMatch(JSON.stringify(ofOthers), /secrets/)
  await entities.changeReadRule('works', 'admin', commandEvent('entity.access'))
  await assertProblem(await get(pinned), 401, 'authentication-required')
  assert.equal((await root.client.get(listPath('works', pinned))).status, 200)
  await entities.drop('works', commandEvent('entity.drop'))
  await assertProblem(await root.client.get(listPath('works', pinned)), 404, 'unknown-entity')
  await imports(works(5, 'open'))
  await assertProblem(await get(pinned), 410, 'snapshot-expired')
})

test('Q36 Q37 a snapshot from before a field that the default condition uses is expired', async t => {
  const { service, imports, list, get } = await started(t)
  await imports(works(5, 'old'))
  const { snapshot } = await list()
  await imports(works(5, 'new').map(work => ({ ...work, year: 1900 + work.id })))
  const { snapshot: later } = await list()
  await service.storage.entities.describe(
    'works',
    { defaultCondition: '[">", "year", 1903]' },
    commandEvent('entity.change'),
  )
  const { detail } = await assertProblem(await get({ snapshot: snapshot ?? '' }), 410, 'snapshot-expired')
  assert.match(String(detail), /default condition of works does not fit the fields/)
  assert.deepEqual(
    (await list({ snapshot: later ?? '' })).records.map(({ id }) => id),
    [4, 5],
  )
})

test('Q37 a snapshot expires after its time, swept or not, and says what to do', async t => {
  const { service, root, imports, writable, list, get } = await started(t)
  await imports(works(5, 'old'))
  await writable()
  await putRecord(root.client, 'works', 1, { id: 1, title: 'first' })
  const { snapshot: first, records } = await list()
  await putRecord(root.client, 'works', 2, { id: 2, title: 'second' })
  const { snapshot: second } = await list()
  assert.notEqual(first, second)
  await foldIn(service)
  assert.equal((await list()).snapshot, second)
  await imports(works(2, 'new'))
  const pinned = { snapshot: first ?? '' }
  assert.deepEqual((await list(pinned)).records, records)
  await age(service, 14 * 60)
  assert.deepEqual((await list(pinned)).records, records)
  await age(service, 61)
  const problem = await assertProblem(await get(pinned), 410, 'snapshot-expired')
  assert.match(problem.detail, /works.*Start over without the parameter snapshot/)
  await assertProblem(await get({ snapshot: second ?? '' }), 410, 'snapshot-expired')
})

test('Q37 an operator can do without snapshots', async t => {
  const { imports, list, get } = await started(t, { CARREL_SNAPSHOT_TIME: '0' })
  await imports(works(5, 'old'))
  const { snapshot, response } = await list({ limit: 2 })
  assert.equal(snapshot, null)
  assert.doesNotMatch(response.headers.get('link') ?? '', /snapshot/)
  await assertProblem(await get({ snapshot: 'abc' }), 400, 'bad-parameter')
})

test('Q38 tables have no snapshots, and the problem names them', async t => {
  const { root, imports, list } = await started(t)
  await imports(works(5, 'work'))
  for (const path of [
    listPath('items', { snapshot: 'abc' }),
    listPath('works', { query: ['in', 'id', ['from', 'audit-events', ['extract', 'id']]] }),
  ]) {
    const response = await root.client.get(path)
    assert.equal(response.headers.get('x-snapshot'), null)
    await response.arrayBuffer()
  }
  const { snapshot } = await list()
  const mixed = { query: ['in', 'id', ['from', 'audit-events', ['extract', 'id']]], snapshot: snapshot ?? '' }
  const problem = await assertProblem(await root.client.get(listPath('works', mixed)), 400, 'bad-parameter')
  assert.match(problem.detail, /events/)
})

test('Q37 what is held has a bound of size, and what is beyond leaves nothing behind', async t => {
  const env = { CARREL_SNAPSHOT_SIZE: '1', CARREL_KEPT_VERSIONS: '0' }
  const { service, imports, list, get } = await started(t, env)
  const taken: { readonly snapshot: string; readonly title: string | undefined }[] = []
  for (let n = 0; n < 6; n++) {
    await imports(works(4_000, `number ${n} of these`))
    const { snapshot, records } = await list({ limit: 1 })
    taken.push({ snapshot: snapshot ?? '', title: records[0]?.title })
  }
  const statuses = []
  for (const { snapshot, title } of taken) {
    const response = await get({ snapshot, limit: 1 })
    const body = (await response.json()) as Work[]
    if (response.status === 200) assert.equal(body[0]?.title, title)
    statuses.push(response.status)
  }
  assert.deepEqual(statuses, [410, 410, 410, 200, 200, 200])
  await age(service, 16 * 60)
  await service.storage.clock.advance()
  // Dropping an entity removes what nothing refers to; what was retired has to be old.
  for (let n = 0; n < 2; n++) {
    await imports(works(1, 'a'), 'other')
    await service.storage.entities.drop('other', commandEvent('entity.drop'))
    await runOnStore(service, 'UPDATE retired SET at = 0')
  }
  await imports(works(1, 'a'), 'other')
  await service.storage.entities.drop('other', commandEvent('entity.drop'))
  assert.deepEqual(await heldIn(service), 0)
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
  const entities = join(service.dataFolder, 'entities')
  if ((await databaseOf(service.dataFolder)) === undefined)
    assert.equal(readdirSync(entities).filter(name => name.startsWith('works')).length, 1)
})

test('Q35 Q37 many folds are read from one version with their changes, and snapshots outlive a restart', async t => {
  const { service, root, imports, writable, list } = await started(t)
  await imports(works(30, 'old'))
  await writable()
  const taken = []
  for (let n = 1; n <= 12; n++) {
    await putRecord(root.client, 'works', n, { id: n, title: `written ${n}` })
    taken.push(await list())
    if (n % 2 === 0) await foldIn(service)
  }
  // The version that is shown, and the first, from which all others are read.
  assert.ok((await heldIn(service)) <= 2)
  const { dataFolder } = service
  await service.stop()
  const again = await startService(t, { dataFolder })
  for (const { snapshot, records } of taken) {
    const response = await again.client().get(listPath('works', { snapshot: snapshot ?? '' }))
    assert.deepEqual(await response.json(), records)
  }
})

test('Q35 a record is as it was when the snapshot was taken, by its own address, too', async t => {
  const { service, root, imports, writable, list } = await started(t)
  await imports(works(3, 'old'))
  await writable()
  const { snapshot } = await list()
  await putRecord(root.client, 'works', 2, { id: 2, title: 'written' })
  await deleteRecord(root.client, 'works', 3)
  await putRecord(root.client, 'works', 4, { id: 4, title: 'added' })
  const record = (key: number, asked: string | null = snapshot) =>
    service.client().get(`/api/query/v4/works/${key}?${new URLSearchParams({ snapshot: asked ?? '' })}`)
  for (const at of ['now', 'after a fold']) {
    if (at !== 'now') await foldIn(service)
    for (const key of [1, 2, 3]) assert.deepEqual(await (await record(key)).json(), works(3, 'old')[key - 1])
    await assertProblem(await record(4), 404, 'not-found')
  }
  assert.equal((await (await service.client().get('/api/query/v4/works/2')).json()).title, 'written')
  await assertProblem(await record(1, 'none'), 400, 'bad-parameter')
})
