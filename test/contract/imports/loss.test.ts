import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../../src/cli/store.ts'
import { importFile } from '../../../src/entities/import-entity.ts'
import type { Loss } from '../../../src/entities/loss.ts'
import { preview } from '../../../src/entities/preview.ts'
import type { FieldType } from '../../../src/model/entities.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { bodyOf, list, listPath } from '../../support/clients/listings.ts'
import { eventsOf } from '../../support/data/events.ts'
import { changeText, importText, leftoversIn, ndjson } from '../../support/data/imports.ts'
import { deleteRecord, putRecord } from '../../support/data/record-writes.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService } from '../../support/service/service.ts'

/** Returns this number of records with successive numbers. */
const numbered = (count: number, first = 1, more: object = {}) =>
  Array.from({ length: count }, (_, at) => ({ id: first + at, title: `t${first + at}`, ...more }))

const csvOf = (records: readonly object[]) =>
  [Object.keys(records[0] ?? {}), ...records.map(record => Object.values(record))]
    .map(row => row.join())
    .join('\n')

/** Imports again without `--replace`. @returns the messages before the removal */
async function importAgain(
  service: Service,
  text: string,
  options: { readonly key?: string | string[]; readonly types?: ReadonlyMap<string, FieldType> } = {},
  entities = service.storage.entities,
): Promise<Loss[]> {
  const file = join(service.dataFolder, 'again')
  writeFileSync(file, text)
  const said: Loss[] = []
  const event = commandEvent('entity.import')
  await importFile(
    file,
    entities,
    { name: 'works', key: 'id', read: null, event, losing: loss => said.push(loss), ...options },
    () => {},
  )
  return said
}

async function previewOf({ storage, dataFolder }: Service, text: string, key: string | string[] = 'id') {
  const file = join(dataFolder, 'preview')
  writeFileSync(file, text)
  return preview(
    file,
    storage.entities,
    { name: 'works', key, types: new Map(), collations: new Map() },
    () => {},
  )
}

interface Case {
  readonly of: string
  readonly before: readonly object[]
  readonly after: string
  readonly key?: string | string[]
  /** Numbers of records and of fields removed; none by default. */
  readonly gone?: number
  readonly fields?: readonly string[]
  /** The refusal; undefined if the import succeeds. */
  readonly says?: RegExp
}

const hundred = numbered(100)
const cases: readonly Case[] = [
  { of: 'nothing to lose', before: [], after: ndjson(numbered(1)) },
  { of: 'more records', before: hundred, after: ndjson(numbered(101)) },
  { of: 'a tenth of the records', before: hundred, after: ndjson(numbered(90)), gone: 10 },
  {
    of: 'more than a tenth',
    before: hundred,
    after: ndjson(numbered(89)),
    gone: 11,
    says: /works would go from 100 records to 89 and lose 11 of them; nothing was imported. If that is right, import it with --replace$/,
  },
  {
    of: 'as many records with other keys',
    before: hundred,
    after: ndjson(numbered(100, 51)),
    gone: 50,
    says: /from 100 records to 100 and lose 50 of them;/,
  },
  {
    of: 'no record at all',
    before: hundred,
    after: 'id,title\n',
    gone: 100,
    says: /from 100 records to 0 and lose 100 of them;/,
  },
  {
    of: 'the one record',
    before: numbered(1),
    after: csvOf(numbered(1, 2)),
    gone: 1,
    says: /from 1 record to 1 and lose 1 of them;/,
  },
  {
    of: 'a column that is another key',
    before: numbered(100, 1, { a: 1, 'b\n': 2 }),
    after: 'name\n7\n',
    key: 'name',
    gone: 100,
    fields: ['id', 'title', 'a', 'b\n'],
    says: /from 100 records to 1 and lose 100 of them and 4 of its 4 fields \(id, title, a, "b\\n"\);/,
  },
  {
    of: 'a field',
    before: hundred,
    after: ndjson(numbered(100).map(({ id }) => ({ id }))),
    fields: ['title'],
    says: /from 100 records to 100 and lose 1 of its 2 fields \(title\);/,
  },
  {
    of: 'many fields',
    before: [Object.fromEntries([['id', 1], ...Array.from({ length: 30 }, (_, at) => [`f${at}`, at])])],
    after: '{"id":1}',
    fields: Array.from({ length: 30 }, (_, at) => `f${at}`),
    says: /30 of its 31 fields \(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 20 more\);/,
  },
  // Keys are compared by value, however they are written and whatever their type is now.
  {
    of: 'numbers of another form',
    before: [{ id: 1 }, { id: 2.5 }, { id: 100 }],
    after: '{"id":1.0}\n{"id":25e-1}\n{"id":1e2}',
  },
  {
    of: 'numbers that become text',
    before: numbered(3),
    after: ndjson(numbered(3).map(one => ({ ...one, id: `${one.id}` }))),
  },
  {
    of: 'text that becomes numbers',
    before: [{ id: '1' }, { id: '2x' }],
    after: '{"id":1}\n{"id":2}',
    gone: 1,
    says: /lose 1 of them/,
  },
  {
    of: 'instants in another zone',
    before: [{ id: '2020-01-01T00:00:00Z' }],
    after: '{"id":"2020-01-01T01:00:00+01:00"}',
  },
  { of: 'another field as the key', before: hundred, after: ndjson(hundred), key: 'title' },
  {
    of: 'a key of two fields',
    before: [
      { a: 1, b: 'x' },
      { a: 1, b: 'y' },
      { a: 2, b: 'x' },
    ],
    after: '{"a":1,"b":"y"}\n{"a":2,"b":"x"}\n{"a":2,"b":"y"}',
    key: ['a', 'b'],
    gone: 1,
    says: /from 3 records to 3 and lose 1 of them/,
  },
  // Many records are compared in parts.
  { of: 'the same many', before: numbered(25_000), after: ndjson(numbered(25_000)) },
  {
    of: 'every second of many',
    before: numbered(25_000),
    after: ndjson(numbered(25_000).map((one, at) => ({ ...one, id: at % 2 === 0 ? one.id : -one.id }))),
    gone: 12_500,
    says: /from 25,000 records to 25,000 and lose 12,500 of them;/,
  },
  {
    of: 'the end of many',
    before: numbered(25_000),
    after: ndjson(numbered(22_499)),
    gone: 2_501,
    says: /from 25,000 records to 22,499 and lose 2,501 of them;/,
  },
]

test('D2 EA6 an import that would take more than a tenth of the records, or a field, is refused unless that is said', async t => {
  const service = await startService(t)
  for (const { of, before, after, key = 'id', gone = 0, fields = [], says } of cases) {
    const oldKey = typeof key === 'string' && before.some(one => !Object.hasOwn(one, key)) ? 'id' : key
    const first = of === 'another field as the key' ? 'id' : oldKey
    await importText(service, ndjson(before) || 'id,title\n', {
      entity: 'works',
      key: first,
      file: before.length === 0 ? 'x.csv' : 'x',
    })
    const { loss } = await previewOf(service, after, key)
    if (before.length === 0) assert.equal(loss, undefined, of)
    else {
      assert.ok(loss, of)
      const { records } = loss
      assert.ok(
        Math.abs(records.gone - gone) <= (records.isEstimate ? before.length / 50 : 0),
        `${of}: ${records.gone}`,
      )
      assert.deepEqual(
        [records.before, loss.fields.gone, loss.needsReplace],
        [before.length, fields, says !== undefined],
        of,
      )
    }
    const was = await bodyOf(service, listPath('works'))
    if (says) {
      await assert.rejects(importAgain(service, after, { key }), says, of)
      assert.equal(await bodyOf(service, listPath('works')), was, of)
      // With `replace`, the import succeeds.
      const report = await importText(service, after, { entity: 'works', key, file: 'y', replace: true })
      assert.deepEqual(report.loss, loss, of)
    } else {
      const said = await importAgain(service, after, { key })
      assert.deepEqual(said, gone > 0 ? [loss] : [], of)
    }
  }
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
})

test('D2 what goes is decided by what is there when the records are replaced', async t => {
  const service = await startService(t)
  const { entities } = service.storage
  const root = await administrator(service)
  const ten = numbered(10)
  /** Imports, and runs work between the first check and the replacement. */
  const importWhile = (text: string, meanwhile: () => Promise<unknown>) => {
    let looks = 0
    const publish: typeof entities.publish = (entity, records, event) =>
      entities.publish(
        {
          ...entity,
          agree: async () => {
            const agreed = await entity.agree?.()
            if (looks++ === 0) await meanwhile()
            return agreed ?? assert.fail('it is not asked')
          },
        },
        records,
        event,
      )
    return importAgain(service, text, {}, { ...entities, publish }).then(said => ({ said, looks }))
  }
  const opened = () => entities.changeWriteRule('works', 'admin', commandEvent('entity.writers'))
  const begin = async () => {
    await importText(service, ndjson(ten), { entity: 'works', key: 'id' })
    await opened()
  }

  // Another import finishes first.
  await begin()
  await assert.rejects(
    importWhile(ndjson(ten), () =>
      importText(service, ndjson(numbered(100)), { entity: 'works', key: 'id' }),
    ),
    /from 100 records to 10 and lose 90 of them/,
  )
  assert.equal((await list(service.client(), 'works')).length, 100)
  // A single record is written that the file doesn't have.
  await begin()
  await assert.rejects(
    importWhile(ndjson(numbered(9)), () => putRecord(root.client, 'works', 11, { title: 'new' })),
    /from 11 records to 9 and lose 2 of them/,
  )
  // An update is imported.
  await begin()
  await assert.rejects(
    importWhile(ndjson(numbered(9)), () =>
      changeText(service, '{"id":11,"title":"new"}', { entity: 'works', kind: 'update' }),
    ),
    /from 11 records to 9 and lose 2 of them/,
  )
  // A change that leads to the same answer doesn't stop the import. If it fits the answer anyway, there is no
  // second check.
  await begin()
  const removed = await importWhile(ndjson(numbered(9)), () => deleteRecord(root.client, 'works', 10))
  assert.deepEqual([removed.looks, removed.said.length], [2, 1])
  await importText(service, ndjson(numbered(100)), { entity: 'works', key: 'id' })
  await opened()
  const roomy = await importWhile(ndjson(numbered(99)), () =>
    putRecord(root.client, 'works', 100, { title: 'x' }),
  )
  assert.equal(roomy.looks, 1)
  assert.equal((await list(service.client(), 'works')).length, 99)
  // The entity is dropped.
  const dropped = await importWhile(ndjson(numbered(95)), () =>
    entities.drop('works', commandEvent('entity.drop')),
  )
  assert.equal(dropped.looks, 2)
  assert.equal((await list(root.client, 'works')).length, 95)
  assert.deepEqual(await leftoversIn(service.dataFolder), [])
})

test('EA5 EA6 over HTTP the preview has the numbers, the fault says them, and replace=true goes on', async t => {
  const service = await startService(t)
  const root = await administrator(service)
  const csv = { 'content-type': 'text/csv' }
  await service.addRecords('works', 'id', numbered(100))
  const seen = await root.post('/works/import?preview=true', 'id\n1\n', csv)
  assert.deepEqual(seen.body.loss, {
    records: { before: 100, after: 1, gone: 99, isEstimate: false },
    fields: { before: 2, after: 1, gone: ['title'] },
    needsReplace: true,
  })
  const refused = await root.imports('/works/import', 'id\n1\n', csv)
  assert.deepEqual(
    [refused.state, refused.fault],
    [
      'failed',
      'works would go from 100 records to 1 and lose 99 of them and 1 of its 2 fields (title); nothing was imported. If that is right, import it with the parameter replace=true',
    ],
  )
  const little = await root.post('/works/import', csvOf(numbered(95)), csv)
  assert.deepEqual((await root.ended(little)).result?.gone, 5)
  const log = await root.client.get(`/api/system/processes/${little.body.processId}/log`)
  assert.match(await log.text(), /works goes from 100 records to 95 and loses 5 of them\./)
  const done = await root.imports('/works/import?replace=true', 'id\n1\n', csv)
  assert.deepEqual(
    [done.state, done.parameters.replace, done.result?.gone, done.result?.goneFields],
    ['completed', 'true', 94, 1],
  )
  const wrong = await root.post('/works/import?mode=update&replace=true', 'id\n1\n', csv)
  assert.deepEqual([wrong.status, wrong.body.parameter], [400, 'replace'])
  assert.equal((await eventsOf(root.client, 'entity.import')).length, 3)
})

test('D1 D2 the command says what goes before it goes, and needs --replace for much', async t => {
  const service = await startService(t)
  await service.addRecords('works', 'id', numbered(100))
  const run = (input: string, ...more: string[]) =>
    carrel(service.dataFolder, ['import', '-', '--entity', 'works', '--key', 'id', ...more], { input })
  const little = await run(ndjson(numbered(99)))
  assert.equal(little.code, 0)
  // A command that takes a while writes bars of its progress, too.
  assert.match(little.stderr, /^works goes from 100 records to 99 and loses 1 of them\.$/m)
  const emptied = await run('id,title\n')
  assert.equal(emptied.code, 1)
  assert.match(emptied.stderr, /^carrel: works would go from 99 records to 0 .* import it with --replace\n$/)
  assert.equal((await list(service.client(), 'works')).length, 99)
  const done = await run('id,title\n', '--replace', '--json')
  assert.deepEqual([done.code, JSON.parse(done.stdout).loss.records.gone], [0, 99])
  assert.match(done.stderr, /works goes from 99 records to 0 and loses 99 of them\./)
  const wrong = await run('{"id":1}', '--replace', '--update')
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /--replace is for importing all records/)
})
