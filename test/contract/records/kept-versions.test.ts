import assert from 'node:assert/strict'
import { readdirSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import type { KeptVersion } from '../../../src/model/kept-versions.ts'
import type { RecordEntity } from '../../../src/storage/entities.ts'
import { fold } from '../../../src/storage/records/folding.ts'
import { type Administrator, administrator } from '../../support/clients/administrator.ts'
import { list } from '../../support/clients/listings.ts'
import { changesOf, eventsOf } from '../../support/data/events.ts'
import { changeText, importText, leftoversIn, ndjson } from '../../support/data/imports.ts'
import { deleteRecord, putRecord } from '../../support/data/record-writes.ts'
import { databaseOf, runOnStore, runSqlIn, test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

interface Work {
  readonly id: number
  readonly title: string
}
const works = (count: number, title: string): Work[] =>
  Array.from({ length: count }, (_, at) => ({ id: at + 1, title: `${title} ${at + 1}` }))

interface Started {
  readonly service: Service
  readonly root: Administrator
  /** Imports these records over HTTP. */
  imports(records: readonly object[], query?: string): Promise<void>
  versions(): Promise<readonly KeptVersion[]>
  restore(id: number): Promise<void>
  /** The records in an order that needs ranks, so that those are looked at, too. */
  records(): Promise<Record<string, unknown>[]>
}

async function started(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Started> {
  const service = await startService(t, { env })
  const root = await administrator(service)
  const post = async (records: readonly object[], query: string) => {
    const ended = await root.imports(
      `/works/import?key=id&read=anonymous&replace=true${query}`,
      ndjson(records),
      {
        'content-type': 'application/x-ndjson',
      },
    )
    assert.equal(ended.state, 'completed', String(ended.fault))
  }
  return {
    service,
    root,
    imports: async (records, query = '') => post(records, query),
    versions: async () => (await service.storage.entities.versions('works')) as readonly KeptVersion[],
    restore: async id => {
      const answer = await root.send('POST', `/works/versions/${id}/restore`)
      assert.equal(answer.status, 204, JSON.stringify(answer.body))
    },
    records: () =>
      list(service.client(), 'works', { order_by: [{ field: 'title', order: 'desc' }, { field: 'id' }] }),
  }
}

test('D15 EA10 an import is undone by one request, and that is undone by another', async t => {
  const { root, imports, versions, restore, records } = await started(t)
  await imports(works(20, 'old'))
  const old = await records()
  assert.deepEqual(await versions(), [])
  await imports(works(5, 'new').map(work => ({ ...work, year: 1900 })))
  const renewed = await records()
  const { status, body } = await root.send('GET', '/works/versions')
  assert.equal(status, 200)
  const [version] = body._embedded.versions
  assert.deepEqual(
    [version.records, version.fields, version.key, version.replacedBy],
    [20, 2, 'id', 'entity.import'],
  )
  assert.equal(Date.parse(version.until) - Date.parse(version.replaced), 7 * 24 * 3600 * 1000)
  await restore(version.id)
  assert.deepEqual(await records(), old)
  const [undo, ...more] = await versions()
  assert.deepEqual([undo?.records, undo?.fields.length, undo?.replacedBy, more], [5, 3, 'entity.restore', []])
  await restore(undo?.id ?? 0)
  assert.deepEqual(await records(), renewed)
})

test('D15 R8 single records belong to the version that they were written over, folded or not', async t => {
  const { service, root, imports, versions, restore, records } = await started(t)
  await imports(works(20, 'old'))
  await service.storage.entities.changeWriteRule('works', 'admin', commandEvent('entity.writers'))
  await putRecord(root.client, 'works', 3, { id: 3, title: 'zebra' })
  await putRecord(root.client, 'works', 99, { id: 99, title: 'added' })
  await deleteRecord(root.client, 'works', 7)
  const written = await records()
  assert.equal(written.length, 20)
  await imports(works(5, 'new'))
  const [kept] = await versions()
  assert.equal(kept?.records, 20)
  await putRecord(root.client, 'works', 1, { id: 1, title: 'over the new one' })
  const renewed = await records()
  await restore(kept?.id ?? 0)
  assert.deepEqual(await records(), written)
  // Writing goes on where it was, and the version takes in what comes by file.
  await putRecord(root.client, 'works', 3, { id: 3, title: 'again' })
  await changeText(service, ndjson([{ id: 4, title: 'by file' }]), { entity: 'works', kind: 'update' })
  const [before, undo] = await versions()
  assert.deepEqual([before?.replacedBy, undo?.replacedBy], ['entity.update', 'entity.restore'])
  const expected = written.map(one =>
    one.id === 3 ? { id: 3, title: 'again' } : one.id === 4 ? { id: 4, title: 'by file' } : one,
  )
  const byId = (all: readonly Record<string, unknown>[]) =>
    all.toSorted((one, other) => Number(one.id) - Number(other.id))
  assert.deepEqual(byId(await records()), byId(expected))
  await restore(undo?.id ?? 0)
  assert.deepEqual(await records(), renewed)
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
})

test('D12 D15 a version that is restored is changed by file like any other, beside what was changed after it', async t => {
  const { service, imports, versions, restore, records } = await started(t)
  await imports(works(200, 'old'))
  const change = (id: number, title: string) =>
    changeText(service, ndjson([{ id, title }]), { entity: 'works', kind: 'update' })
  const old = await records()
  await change(1, 'first')
  const first = await records()
  await change(2, 'second')
  const second = await records()
  const [ofFirst, ofOld] = await versions()
  await restore(ofOld?.id ?? 0)
  assert.deepEqual(await records(), old)
  await change(3, 'third')
  const third = (await records()).map(one => one.title)
  assert.ok(third.includes('third') && third.includes('old 1') && third.includes('old 2'))
  await restore(ofFirst?.id ?? 0)
  assert.deepEqual(await records(), first)
  const ofSecond = (await versions()).find(({ replacedBy, id }) => replacedBy === 'entity.restore' && id > 0)
  assert.ok(ofSecond)
  const found = []
  for (const { id } of await versions()) {
    await restore(id)
    found.push(JSON.stringify(await records()))
  }
  assert.ok(found.includes(JSON.stringify(second)))
  assert.ok(found.includes(JSON.stringify(old)))
})

test('EA10 EA4 what is not there is 404, what is no import 409, and a stale tag 412', async t => {
  const { root, imports, versions, records } = await started(t)
  await imports(works(3, 'old'))
  await imports(works(2, 'new'))
  const [kept] = await versions()
  const id = kept?.id ?? 0
  const answers = await Promise.all(
    [
      ['GET', '/none/versions', 404],
      ['POST', `/none/versions/${id}/restore`, 404],
      ['POST', `/works/versions/${id + 1}/restore`, 404],
      ['POST', '/works/versions/0/restore', 404],
      ['POST', `/works/versions/${id}%2e0/restore`, 404],
      ['POST', '/works/versions/99999999999999999999/restore', 404],
      ['GET', '/items/versions', 409],
      ['POST', '/items/versions/1/restore', 409],
      ['GET', '/works/versions?what=1', 400],
    ].map(async ([method, path, status]) => {
      const answer = await root.send(String(method), String(path))
      return [method, path, answer.status === status ? status : answer]
    }),
  )
  for (const [method, path, status] of answers)
    assert.equal(typeof status, 'number', `${method} ${path} ${JSON.stringify(status)}`)
  const stale = await root.send('POST', `/works/versions/${id}/restore`, undefined, { 'if-match': '"other"' })
  assert.equal(stale.status, 412)
  assert.equal((await records()).length, 2)
  const etag = (await root.send('GET', '/works')).headers.get('etag') ?? ''
  const done = await root.send('POST', `/works/versions/${id}/restore`, undefined, { 'if-match': etag })
  assert.equal(done.status, 204)
  assert.equal((await records()).length, 3)
})

test('EA10 EA8 a restore is an event with what differs, and whose it was', async t => {
  const { service, root, imports, versions, restore } = await started(t)
  await imports(works(3, 'old'))
  await imports(works(2, 'new').map(work => ({ ...work, year: 1 })))
  await carrel(service.dataFolder, ['entity', 'access', 'works', 'eperson'])
  const [kept] = await versions()
  await restore(kept?.id ?? 0)
  const [event] = await eventsOf(root.client, 'entity.restore')
  assert.deepEqual([event?.object, event?.outcome, event?.actor], ['works', 'success', root.uuid])
  assert.deepEqual(await changesOf(root.client, 'entity.restore'), [
    {
      before: { fields: ['id', 'title', 'year'], records: 2 },
      after: { fields: ['id', 'title'], records: 3, version: kept?.id },
    },
  ])
  const { body } = await root.send('GET', '/works')
  assert.equal(body.read, 'eperson', 'readers stay as they are')
})

test('D15 commands list versions and restore one, and say how to undo that', async t => {
  const { service, records } = await started(t)
  const run = (...args: string[]) => carrel(service.dataFolder, ['entity', ...args])
  const hint = /\n`carrel entity versions works` lists the versions that can be restored\.\n$/
  for (const [all, isHinted] of [
    [works(3, 'old'), false],
    [works(2, 'new'), true],
  ] as const) {
    const args = ['import', '-', '--entity', 'works', '--key', 'id', '--read', 'anonymous', '--replace']
    const imported = await carrel(service.dataFolder, args, { input: ndjson(all) })
    assert.equal(imported.code, 0, imported.stderr)
    assert.equal(hint.test(imported.stdout), isHinted, imported.stdout)
  }
  const listed = await run('versions', 'works')
  assert.match(
    listed.stdout,
    /^VERSION +RECORDS +FIELDS +MEGABYTES +REPLACED +BY +KEPT UNTIL\n +\d+ +3 +2 +1 +20/,
  )
  const [version] = JSON.parse((await run('versions', 'works', '--json')).stdout) as { id: number }[]
  const done = await run('restore', 'works', String(version?.id))
  const [, undo] =
    /^works has version \d+ again: 3 records, in \d+\.\d\d s\.\n`carrel entity restore works (\d+)` undoes that/.exec(
      done.stdout,
    ) ?? [done.stdout + done.stderr]
  assert.equal((await records()).length, 3)
  const undone = JSON.parse((await run('restore', 'works', String(undo), '--json')).stdout)
  assert.deepEqual([undone.name, undone.version, undone.records], ['works', Number(undo), 2])
  assert.equal((await records()).length, 2)
  for (const [args, code, says] of [
    [
      ['restore', 'works', String(undo)],
      1,
      /works has no version \d+, or not any more; `carrel entity versions works`/,
    ],
    [['restore', 'works', 'last'], 2, /<version> takes a number, such as 12/],
    [['restore', 'none', '1'], 1, /there is no imported entity none/],
    [['versions', 'items'], 1, /items holds no imported records/],
  ] as const) {
    const refused = await run(...args)
    assert.equal(refused.code, code, refused.stdout + refused.stderr)
    assert.match(refused.stderr, says)
  }
})

/** Makes all kept versions older by this number of days. */
const age = (service: Service, days: number) =>
  runOnStore(service, `UPDATE kept_version SET at = at - ${days * 24 * 3600 * 1000}`)

/** Number of versions that are in the store, whatever their age. */
async function keptIn(service: Service): Promise<number> {
  const sql = 'SELECT version FROM kept_version'
  if ((await databaseOf(service.dataFolder)) !== undefined)
    return (await runSqlIn(service.dataFolder, sql.replace('FROM ', 'FROM carrel.'))).length
  const db = new DatabaseSync(join(service.dataFolder, 'carrel.db'), { readOnly: true })
  const { length } = db.prepare(sql).all()
  db.close()
  return length
}

test('D15 versions are kept for the days of the setting, and none where that is 0', async t => {
  const { service, root, imports, versions } = await started(t, { CARREL_KEPT_VERSIONS: '3' })
  await imports(works(3, 'old'))
  await imports(works(2, 'new'))
  const [kept] = await versions()
  await age(service, 2)
  assert.equal((await versions()).length, 1)
  await age(service, 2)
  assert.deepEqual(await versions(), [])
  assert.equal((await root.send('POST', `/works/versions/${kept?.id}/restore`)).status, 404)
  await imports(works(1, 'newer'))
  assert.deepEqual(
    (await versions()).map(({ records }) => records),
    [2],
  )
  // A clock that is far ahead removes none; a time that has certainly passed does.
  await runOnStore(service, 'UPDATE state SET mark = 0')
  await imports(works(2, 'newer'))
  assert.equal(await keptIn(service), 3)
  await runOnStore(service, `UPDATE state SET mark = ${Date.now()}`)
  await imports(works(3, 'newer'))
  assert.equal(await keptIn(service), 3)
  const env = { CARREL_KEPT_VERSIONS: '0' }
  const { code, stderr } = await carrel(service.dataFolder, ['entity', 'versions', 'works'], { env })
  assert.equal(code, 0, stderr)
  const none = await started(t, env)
  await none.imports(works(3, 'old'))
  await none.imports(works(2, 'new'))
  assert.deepEqual(await none.versions(), [])
})

test('D15 all kept versions have a size together, and whoever imports without end pushes out the oldest', async t => {
  const { service } = await started(t, { CARREL_KEPT_VERSIONS_SIZE: '1' })
  const { entities } = service.storage
  const wide = (count: number, letter: string) =>
    ndjson(works(count, letter).map(work => ({ ...work, text: letter.repeat(1_000) })))
  const imports = (entity: string, count: number, letter: string) =>
    importText(service, wide(count, letter), { entity, key: 'id' })
  await imports('first', 100, 'a')
  await imports('first', 100, 'b')
  assert.equal((await entities.versions('first')).length, 1)
  // One that has no room by itself is not kept, and takes none from others.
  await imports('large', 1_100, 'a')
  await imports('large', 1, 'b')
  assert.deepEqual(await entities.versions('large'), [])
  assert.equal((await entities.versions('first')).length, 1)
  for (let round = 0; round < 12; round++)
    for (const name of ['second', 'third']) await imports(name, 100, 'abcdefghijklm'.charAt(round))
  const kept = await Promise.all(['first', 'second', 'third'].map(name => entities.versions(name)))
  assert.deepEqual(
    kept.map(({ length }) => length),
    [0, 2, 3],
  )
  const bytes = kept.flat().reduce((sum, one) => sum + one.bytes, 0)
  assert.ok(bytes <= 1024 * 1024, String(bytes))
})

test('D15 a version whose records are lost is not restored: 503, and all stays as it was', async t => {
  const { service, root, imports, versions, records } = await started(t)
  await imports(works(3, 'old'))
  const { source } = (await service.storage.entities.all()).get('works') ?? {}
  const version = source?.kind === 'records' ? source.version : ''
  await imports(works(2, 'new'))
  const [kept] = await versions()
  if ((await databaseOf(service.dataFolder)) === undefined)
    rmSync(join(service.dataFolder, 'entities', `${version}.db`))
  else await runSqlIn(service.dataFolder, `DROP TABLE carrel."records.${version}"`)
  const { status, body } = await root.send('POST', `/works/versions/${kept?.id}/restore`)
  assert.deepEqual([status, body.status], [503, 503])
  assert.equal((await records()).length, 2)
  assert.equal((await versions()).length, 1)
  await imports(works(1, 'newest'))
  assert.equal((await records()).length, 1)
})

test('D15 D12 what updates share counts once, and updates do not push out the version before an import', async t => {
  const { service, imports, versions, restore, records } = await started(t)
  await imports(works(300, 'old'))
  const old = await records()
  await imports(works(300, 'new'))
  for (let n = 1; n <= 12; n++)
    await changeText(service, ndjson([{ id: n, title: 'changed' }]), { entity: 'works', kind: 'update' })
  const kept = await versions()
  assert.deepEqual(
    kept.map(({ replacedBy }) => replacedBy),
    [...Array(10).fill('entity.update'), 'entity.import'],
  )
  await restore(kept.at(-1)?.id ?? 0)
  assert.deepEqual(await records(), old)
})

test('D15 R8 single records over a restored version are folded, and later versions stay as they were', async t => {
  const { service, root, imports, versions, restore, records } = await started(t)
  const { entities } = service.storage
  await imports(works(200, 'old'))
  await entities.changeWriteRule('works', 'admin', commandEvent('entity.writers'))
  await changeText(service, ndjson([{ id: 1, title: 'by file' }]), { entity: 'works', kind: 'update' })
  const changed = await records()
  const [base] = await versions()
  await restore(base?.id ?? 0)
  await putRecord(root.client, 'works', 2, { id: 2, title: 'by itself' })
  await putRecord(root.client, 'works', 999, { id: 999, title: 'added' })
  await deleteRecord(root.client, 'works', 3)
  const written = await records()
  const shown = async () => (await entities.all()).get('works') as RecordEntity
  assert.equal(await fold(await shown(), entities), true)
  assert.ok(!(await shown()).source.version.includes('+'))
  assert.deepEqual(await records(), written)
  const found = await list(service.client(), 'works', { query: ['=', 'title', 'by itself'] })
  assert.deepEqual(found, [{ id: 2, title: 'by itself' }])
  await putRecord(root.client, 'works', 4, { id: 4, title: 'later' })
  await changeText(service, ndjson([{ id: 5, title: 'by file, too' }]), { entity: 'works', kind: 'update' })
  const titles = (await records()).map(({ title }) => title)
  assert.deepEqual(
    ['by itself', 'added', 'later', 'by file, too', 'by file', 'old 3'].map(title => titles.includes(title)),
    [true, true, true, true, false, false],
  )
  const ofFile = (await versions()).find(({ replacedBy }) => replacedBy === 'entity.restore')
  await restore(ofFile?.id ?? 0)
  assert.deepEqual(await records(), changed)
})

test('D15 R1 what another node knows of a version holds when it comes back, single records included', async t => {
  const { service, root, imports, versions, restore, records } = await started(t)
  await imports(works(20, 'old'))
  await service.storage.entities.changeWriteRule('works', 'admin', commandEvent('entity.writers'))
  await putRecord(root.client, 'works', 1, { id: 1, title: 'one' })
  await putRecord(root.client, 'works', 99, { id: 99, title: 'added' })
  const [asleep, awake] = [
    await startService(t, { dataFolder: service.dataFolder }),
    await startService(t, { dataFolder: service.dataFolder }),
  ]
  const order = { order_by: [{ field: 'title', order: 'desc' }, { field: 'id' }], include_total: true }
  const seen = (one: Service) => list(one.client(), 'works', order)
  const before = await records()
  assert.deepEqual(await seen(asleep), before)
  await imports(works(5, 'new'))
  assert.equal((await seen(awake)).length, 5)
  await restore((await versions())[0]?.id ?? 0)
  for (const one of [asleep, awake, service]) assert.deepEqual(await seen(one), before)
  await putRecord(root.client, 'works', 2, { id: 2, title: 'two' })
  const after = await records()
  assert.equal(after.length, 21)
  for (const one of [asleep, awake]) assert.deepEqual(await seen(one), after)
})

test('D15 what is kept stays on disk when what is not is removed, its files of fields included', async t => {
  const { service, imports, versions, restore, records } = await started(t)
  // Files of fields are made for this many records.
  await imports(works(10_000, 'old'))
  const old = await records()
  await changeText(service, ndjson([{ id: 1, title: 'by file' }]), { entity: 'works', kind: 'update' })
  const changed = await records()
  await imports(works(5, 'new'))
  await importText(service, ndjson(works(5, 'a')), { entity: 'gone', key: 'id' })
  await importText(service, ndjson(works(5, 'b')), { entity: 'gone', key: 'id' })
  await service.storage.entities.drop('gone', commandEvent('entity.drop'))
  // Time passes: what was retired is old, and so are all files.
  await runOnStore(service, 'UPDATE retired SET at = 0')
  const isEmbedded = (await databaseOf(service.dataFolder)) === undefined
  const files = (folder: string) => readdirSync(join(service.dataFolder, folder))
  const longAgo = new Date(Date.now() - 7_200_000)
  if (isEmbedded)
    for (const folder of ['entities', 'fields'])
      for (const name of files(folder)) utimesSync(join(service.dataFolder, folder, name), longAgo, longAgo)
  await importText(service, ndjson(works(5, 'a')), { entity: 'other', key: 'id' })
  if (isEmbedded)
    for (const [folder, ...entities] of [
      ['entities', 'other', 'works', 'works', 'works'],
      ['fields', 'works', 'works'],
    ] as const)
      assert.deepEqual(
        files(folder)
          .map(name => name.split('.')[0])
          .toSorted(),
        entities,
        folder,
      )
  else {
    const tables = await runSqlIn(
      service.dataFolder,
      "SELECT 1 FROM pg_tables WHERE schemaname = 'carrel' AND tablename LIKE 'records.%'",
    )
    assert.equal(tables.length, 3)
  }
  const [ofImport, ofUpdate] = await versions()
  await restore(ofUpdate?.id ?? 0)
  assert.deepEqual(await records(), old)
  await restore(ofImport?.id ?? 0)
  assert.deepEqual(await records(), changed)
})
