import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ImportError } from '../../../src/import/import-error.ts'
import type { Entity } from '../../../src/model/entities.ts'
import { bodyOf, list, listPath, queryPath } from '../../support/clients/listings.ts'
import { changeText, importText, leftoversIn, ndjson } from '../../support/data/imports.ts'
import { repeats } from '../../support/scale.ts'
import { createDatabase } from '../../support/service/databases.ts'
import { engineIn, storeSettings, test, testOn } from '../../support/service/engines.ts'
import { letters } from '../../support/service/faults.ts'
import { carrel, cleanEnvironment, entry } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

const works = [
  { id: 1, title: 'Ribbon', year: 1961 },
  { id: 2, title: 'Spiral', year: null },
  { id: 3, title: 'Wall', year: 1958 },
]

async function startWithWorks(t: Parameters<typeof startService>[0]): Promise<Service> {
  const service = await startService(t)
  await importText(service, ndjson(works), { entity: 'works', key: 'id' })
  return service
}

const described = async (service: Service) =>
  (JSON.parse(await bodyOf(service, queryPath)) as Entity[]).find(({ name }) => name === 'works')

test('D12 --update replaces records of the same key, inserts others and keeps the rest', async t => {
  const service = await startWithWorks(t)
  const report = await changeText(
    service,
    ndjson([
      { id: 3, title: 'Wall II', year: 1959 },
      { id: 0, title: 'Zero', year: 1900, artist: 'Ruth' },
      { id: 2, title: 'Spiral', year: null },
    ]),
    { entity: 'works', kind: 'update' },
  )
  const { inserted, replaced, deleted, unchanged, records } = report
  assert.deepEqual(
    { inserted, replaced, deleted, unchanged, records },
    { inserted: 1, replaced: 1, deleted: 0, unchanged: 1, records: 4 },
  )
  assert.deepEqual(await list(service.client(), 'works'), [
    { id: 0, title: 'Zero', year: 1900, artist: 'Ruth' },
    works[0],
    works[1],
    { id: 3, title: 'Wall II', year: 1959 },
  ])
  assert.deepEqual((await described(service))?.fields, [
    { name: 'id', type: 'integer', nullable: false },
    { name: 'title', type: 'text', nullable: false },
    { name: 'year', type: 'integer', nullable: true },
    { name: 'artist', type: 'text', nullable: true },
  ])
  const byYear = await list(service.client(), 'works', { order_by: [{ field: 'year', order: 'desc' }] })
  assert.deepEqual(
    byYear.map(({ id }) => id),
    [2, 1, 3, 0],
  )
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
})

test('D12 --delete deletes by key, other fields don’t count, and keys that are not there are counted only', async t => {
  const service = await startWithWorks(t)
  for (const [file, content] of [
    ['gone.ndjson', '{"id":2,"title":7}\n{"id":9}\n'],
    ['gone.csv', 'id\n2\n9\n'],
    ['gone.json', '[{"id":9},{"id":2}]'],
  ] as const) {
    await importText(service, ndjson(works), { entity: 'works', key: 'id' })
    const report = await changeText(service, content, { entity: 'works', kind: 'delete', file })
    assert.deepEqual([report.deleted, report.unchanged, report.records], [1, 1, 2], file)
    assert.deepEqual(await list(service.client(), 'works'), [works[0], works[2]])
    assert.equal((await described(service))?.fields[2]?.nullable, false, 'no record without a year is left')
  }
  await changeText(service, ndjson(works), { entity: 'works', kind: 'delete' })
  assert.equal(await bodyOf(service, listPath('works')), '[]')
  await changeText(service, ndjson(works), { entity: 'works', kind: 'update' })
  assert.deepEqual(await list(service.client(), 'works'), works)
})

test('D12 keys of several fields, collations and many changes in a row', async t => {
  const service = await startService(t)
  const key = ['host', 'fact']
  const facts = Array.from({ length: 60 }, (_, n) => ({ host: `h${n % 7}`, fact: `f${n}`, value: n }))
  const names = ['Zorn', 'Ångström', 'dix', 'Andersson', 'Örn', 'Dix']
  const all = facts.map((fact, n) => ({ ...fact, name: names[n % 4] }))
  const collations = new Map([['name', 'sv'] as const])
  await importText(service, ndjson(all), { entity: 'facts', key, collations })
  const now = new Map(all.map(fact => [`${fact.host} ${fact.fact}`, fact]))
  for (let round = 0; round < repeats(4, 30); round++) {
    const changes = [0, 1, 2].map(n => ({
      ...{ host: `h${(round + n) % 9}`, fact: `f${(round * 3 + n) % 70}` },
      ...{ value: round, name: names[(round + n) % 6] },
    }))
    await changeText(service, ndjson(changes), { entity: 'facts', kind: 'update' })
    for (const change of changes) now.set(`${change.host} ${change.fact}`, change)
  }
  await importText(service, ndjson([...now.values()]), { entity: 'fresh', key, collations })
  for (const order_by of [[], [{ field: 'name' }], [{ field: 'value', order: 'desc' }, { field: 'name' }]]) {
    const page = order_by.length === 0 ? {} : { order_by }
    assert.equal(
      await bodyOf(service, listPath('facts', page)),
      await bodyOf(service, listPath('fresh', page)),
    )
  }
})

test('D12 Q1 pages are the same whether they are read from the store or from memory', async t => {
  const service = await startService(t)
  const made = (ids: Iterable<number>, said: string) =>
    Array.from(ids, id => ({ id, title: `${said} ${id} – Ä\n${'x'.repeat(id % 90)}` }))
  const old = made(Array(5_000).keys(), 'Old')
  await importText(service, ndjson(old), { entity: 'works', key: 'id' })
  const renewed = made([7, 2_047, 2_048, 4_999, 5_000], 'New')
  await changeText(service, ndjson(renewed), { entity: 'works', kind: 'update' })
  const expected = [...old, ...renewed.slice(-1)].map(
    record => renewed.find(({ id }) => id === record.id) ?? record,
  )
  const pages = async () =>
    (
      await Promise.all(
        [0, 2_040, 4_095, 4_990].map(offset => list(service.client(), 'works', { offset, limit: 20 })),
      )
    ).flat()
  const wanted = [0, 2_040, 4_095, 4_990].flatMap(offset => expected.slice(offset, offset + 20))
  assert.deepEqual(await pages(), wanted)
  const bytes = Buffer.byteLength(expected.map(record => JSON.stringify(record)).join(''))
  await until(
    `${bytes} bytes of records in memory`,
    () => service.storage.metrics.cache(),
    cache => cache.bytes >= bytes,
  )
  assert.deepEqual(await pages(), wanted)
})

test('D12 a change that the entity can’t take is refused by its line and changes nothing', async t => {
  const service = await startWithWorks(t)
  await service.addEperson('ruth@example.org')
  const before = await bodyOf(service, listPath('works'))
  for (const [content, options, message] of [
    ['{"id":1,"year":"c. 1960"}', {}, /^line 1: the field "year" of works is integer.*another --type$/],
    ['{"id":4}\n{"id":"x"}', {}, /^line 2: the field "id" of works is integer/],
    ['{"id":4}\n{"title":"x"}', {}, /^line 2: the key field "id" is missing or null/],
    ['{"id":4}\n{"id":5}\n{"id":4}', {}, /^line 3: the key 4 is there again, as on line 1/],
    ['{"id":4}\n{"id":', {}, /^line 2: not valid JSON/],
    ['{"id":4}', { key: 'title' }, /^the key of works is id; leave out --key/],
    ['{"id":4}', { entity: 'nothing' }, /^there are no imported records called nothing/],
    ['{"id":4}', { entity: 'epersons' }, /^there are no imported records called epersons/],
  ] as const)
    await assert.rejects(
      changeText(service, content, { entity: 'works', kind: 'update', ...options }),
      error => error instanceof ImportError && message.test(error.message),
      message.source,
    )
  assert.equal(await bodyOf(service, listPath('works')), before)
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
})

test('D12 an update that is interrupted at any moment changes nothing, or everything', async t => {
  const service = await startWithWorks(t)
  const changes = ndjson([{ id: 1, title: 'New', year: 2_000 }])
  const moments: string[] = []
  await changeText(service, changes, { entity: 'works', kind: 'update' }, (step, share) =>
    moments.push(`${step} ${share}`),
  )
  const done = await bodyOf(service, listPath('works'))
  assert.equal(moments.at(-1), 'writing 1')
  for (const at of moments.keys()) {
    await importText(service, ndjson(works), { entity: 'works', key: 'id' })
    const before = await bodyOf(service, listPath('works'))
    const stop = new AbortController()
    let seen = -1
    const change = changeText(
      service,
      changes,
      { entity: 'works', kind: 'update', signal: stop.signal },
      () => {
        if (++seen === at) stop.abort(new Error('stopped here'))
      },
    )
    const isLast = at === moments.length - 1
    if (isLast) await change
    else await assert.rejects(change, { message: 'stopped here' }, moments[at])
    assert.equal(await bodyOf(service, listPath('works')), isLast ? done : before)
    assert.deepEqual(await leftoversIn(service.dataFolder), [])
  }
})

test('D12 updates at the same time are all done, and readers meet whole versions only', async t => {
  const service = await startService(t)
  const size = 3_000
  const versioned = (version: number) => letters(size, `v${version}`)
  await importText(service, ndjson(versioned(0)), { entity: 'letters', key: 'id' })
  let isOver = false
  const read = async (order: string) => {
    do {
      const order_by = [{ field: 'name', order }]
      const records = await list<{ id: number; mark?: number }>(service.client(), 'letters', { order_by })
      // Each update marks four records with its number.
      const marks = new Map<number, number>()
      for (const { mark } of records) if (mark !== undefined) marks.set(mark, (marks.get(mark) ?? 0) + 1)
      for (const count of marks.values()) assert.equal(count, 4)
      assert.equal(records.length, size)
    } while (!isOver)
  }
  const readers = ['asc', 'desc'].map(read)
  const update = async (mark: number) => {
    const changes = [0, 1, 2, 3].map(n => ({ ...letters(size, `u${mark}`)[mark * 4 + n], mark }))
    await changeText(service, ndjson(changes), {
      ...{ entity: 'letters', kind: 'update' as const, file: `changes-${mark}.ndjson` },
    })
  }
  for (let round = 0; round < repeats(1, 6); round++)
    await Promise.all([0, 1, 2].map(n => update(round * 3 + n)))
  isOver = true
  await Promise.all(readers)
  const marked = (await list<{ mark?: number }>(service.client(), 'letters')).filter(
    one => one.mark !== undefined,
  )
  assert.equal(marked.length, repeats(1, 6) * 12)
})

test('D12 D4 an update that is killed at any moment leaves the old records whole, or the new ones', async t => {
  const service = await startService(t)
  const old = letters(8_000, 'old')
  const changed = letters(8_000, 'new').filter(({ id }) => id % 9 === 0)
  await importText(service, ndjson(old), { entity: 'letters', key: 'id' })
  const before = await bodyOf(service, listPath('letters'))
  const file = join(temporaryFolder(t), 'changes.ndjson')
  writeFileSync(file, ndjson(changed))
  const args = ['import', file, '--entity', 'letters', '--update']
  const began = performance.now()
  assert.equal((await carrel(service.dataFolder, args)).code, 0)
  const longest = Math.max(500, (performance.now() - began) * 1.1)
  const after = await bodyOf(service, listPath('letters'))
  assert.notEqual(after, before)
  for (let round = 0; round < repeats(1, 12); round++) {
    await importText(service, ndjson(old), { entity: 'letters', key: 'id' })
    const child = spawn(process.execPath, [entry, ...args], {
      env: cleanEnvironment(await storeSettings(service.dataFolder)),
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    await Promise.race([sleep(100 + Math.random() * longest), ended])
    child.kill('SIGKILL')
    await ended
    const found = await bodyOf(service, listPath('letters'))
    assert.ok(found === before || found === after, 'the records of one version, whole')
  }
})

test('D12 D7 --read changes who may read, and without it the rule stays', async t => {
  const service = await startWithWorks(t)
  const one = ndjson([{ id: 1, title: 'x', year: 1 }])
  assert.equal((await changeText(service, one, { entity: 'works', kind: 'update' })).read, 'anonymous')
  const report = await changeText(service, one, { entity: 'works', kind: 'update', read: 'eperson' })
  assert.equal(report.read, 'eperson')
  assert.equal((await service.client().get(listPath('works'))).status, 401)
})

testOn('sqlite', 'D12 D1 the command says what it did, and what it does not take', async t => {
  const dataFolder = temporaryFolder(t, engineIn(t))
  const run = (...args: string[]) =>
    carrel(dataFolder, ['import', '-', '--entity', 'works', ...args], { input: ndjson(works.slice(0, 2)) })
  assert.equal((await run('--key', 'id')).code, 0)
  const done = await run('--delete')
  assert.equal(done.code, 0, done.stderr)
  assert.match(done.stdout, /^works: 2 deleted, in \d+\.\d s\. It has 0 records\.$/m)
  assert.match((await run('--update', '--key', 'id')).stdout, /^works: 2 inserted, in/m)
  assert.match((await run('--update')).stdout, /^works: nothing changed, 2 without a change, in/m)
  const report = JSON.parse((await run('--delete', '--json')).stdout) as Record<string, unknown>
  assert.deepEqual([report.deleted, report.records], [2, 0])
  for (const [args, message] of [
    [['--update', '--delete'], /each takes a file of its own/],
    [['--update', '--type', 'year=text'], /--type and --collation are for importing all records/],
    [[], /--key/],
  ] as const) {
    const refused = await run(...args)
    assert.equal(refused.code, 2, refused.stderr)
    assert.match(refused.stderr, message)
  }
})

testOn('sqlite', 'D12 a copy on PostgreSQL has the records as they were changed', async t => {
  const service = await startService(t, { engine: 'sqlite' })
  await importText(service, ndjson(letters(2_000, 'old')), { entity: 'letters', key: 'id' })
  const some = letters(2_100, 'new').filter(({ id }) => id % 7 === 0)
  await changeText(service, ndjson(some), { entity: 'letters', kind: 'update' })
  await changeText(service, ndjson(letters(40)), { entity: 'letters', kind: 'delete' })
  const paths = [{}, { order_by: [{ field: 'name', order: 'desc' }] }].map(page => listPath('letters', page))
  const before = await Promise.all(paths.map(path => bodyOf(service, path)))
  const url = new URL(await createDatabase(t))
  const env = { PGPASSWORD: decodeURIComponent(url.password) }
  const address = url.href
  url.password = ''
  const done = await carrel(service.dataFolder, ['copy', '--to', url.href], { env })
  assert.equal(done.code, 0, done.stderr)
  const copied = await startService(t, { engine: 'postgres', env: { CARREL_DATABASE_URL: address } })
  assert.deepEqual(await Promise.all(paths.map(path => bodyOf(copied, path))), before)
})
