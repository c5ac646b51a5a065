import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { commandEvent } from '../../src/cli/store.ts'
import { reshape } from '../../src/entities/reshape-fields.ts'
import { reviseFile } from '../../src/entities/revision.ts'
import { Lagging } from '../../src/lib/errors.ts'
import { entityTag } from '../../src/model/declared.ts'
import type { Entities } from '../../src/storage/entities.ts'
import { UnknownReader } from '../../src/storage/single-records.ts'
import { verifyTrail } from '../../src/storage/statements/verify-trail.ts'
import { storeTests } from '../support/service/stores.ts'
import { until } from '../support/service/waiting.ts'
import { entityIn, letters, lines, recordsIn } from './letters.ts'

/** Declares tests of the list of entities, of declarations, and of the audit trail in the store. */
const test = storeTests()

test('Q1 an entity is replaced in one step, keeps what is declared of it, and is dropped', async storage => {
  const { entities } = storage
  const imported = commandEvent('entity.import')
  await storage.people.ensureGroups(['Readers'])
  assert.equal(await entities.publish(letters('one', 2), lines(2, 'a'), imported), 'anonymous')
  assert.deepEqual(await recordsIn(storage, 'one'), lines(2, 'a'))
  const event = commandEvent('entity.change')
  assert.equal(await entities.describe('one', { defaultCondition: '["=", "id", 1]' }, event), true)
  assert.equal(await entities.changeReadRule('one', 'group:Readers', event), true)
  assert.equal(await entities.changeWriteRule('one', 'admin', event), true)
  assert.equal(await entities.changeWriteRule('none', 'admin', event), false)
  assert.equal(
    await entities.publish(letters('one', 3, { read: null }), lines(3, 'b'), imported),
    'group:Readers',
  )
  const entity = await entityIn(storage, 'one')
  assert.deepEqual(
    [entity.defaultCondition, entity.read, entity.write, entity.source.count],
    ['["=", "id", 1]', 'group:Readers', 'admin', 3],
  )
  const declared = { read: 'eperson', description: 'Other' } as const
  assert.equal(await entities.declare('one', declared, 'another tag', event), 'changed')
  assert.equal(await entities.declare('one', declared, entityTag(entity), event), 'declared')
  assert.equal(await entities.declare('none', declared, 'x', event), 'missing')
  assert.equal((await entityIn(storage, 'one')).write, undefined)
  const stale = letters('one', 1, { replaces: 'another version' })
  assert.equal(await entities.publish(stale, lines(1, 'c'), imported), undefined)
  assert.equal(await entities.drop('one', commandEvent('entity.drop'), 'another tag'), 'changed')
  assert.equal(await entities.drop('one', commandEvent('entity.drop')), true)
  assert.equal(await entities.drop('one', commandEvent('entity.drop')), false)
})

test('Q11 R2 a rule names a group and an eperson who are there, and goes with the eperson', async storage => {
  const { entities, people } = storage
  const event = commandEvent('entity.access')
  const person = { firstName: null, lastName: null, passwordHash: null, administrator: false }
  const add = async (email: string) => {
    const added = await people.addEperson({ ...person, email }, commandEvent('eperson.add'))
    assert.ok(added !== 'exists')
    return added.uuid
  }
  const [ruth, max] = [await add('ruth@rules.example.org'), await add('max@rules.example.org')]
  await entities.publish(letters('hers', 2, { read: `eperson:${ruth}` }), lines(2, 'a'), event)
  await entities.publish(letters('both', 2), lines(2, 'b'), event)
  await entities.changeReadRule('both', `eperson:${max}`, event)
  await entities.changeWriteRule('both', `eperson:${ruth}`, event)
  const tag = entityTag(await entityIn(storage, 'both'))
  const rules = async (name: string) => {
    const { read, write } = await entityIn(storage, name)
    return [read, write]
  }

  for (const rule of ['group:None of these', `eperson:${randomUUID()}`] as const) {
    const refused = UnknownReader
    await assert.rejects(entities.changeReadRule('both', rule, event), refused)
    await assert.rejects(entities.changeWriteRule('both', rule, event), refused)
    await assert.rejects(entities.declare('both', { read: rule }, tag, event), refused)
    await assert.rejects(entities.publish(letters('new', 1, { read: rule }), lines(1, 'c'), event), refused)
  }
  assert.deepEqual(await rules('both'), [`eperson:${max}`, `eperson:${ruth}`])

  assert.equal(await people.removeEperson(ruth, commandEvent('eperson.delete')), 'changed')
  assert.deepEqual(await rules('hers'), ['admin', undefined])
  assert.deepEqual(await rules('both'), [`eperson:${max}`, undefined])
  await entities.publish(letters('hers', 3, { read: null }), lines(3, 'c'), event)
  assert.equal(await people.deleteEperson('max@rules.example.org', commandEvent('eperson.delete')), 'changed')
  assert.deepEqual(
    [await rules('hers'), await rules('both')],
    [
      ['admin', undefined],
      ['admin', undefined],
    ],
  )
  const closed: unknown[] = []
  await storage.trail.read(async reader => {
    for await (const one of reader.events({ since: null, until: null }))
      if (one.event === 'eperson.delete') closed.push(JSON.parse(one.changes ?? 'null').before.entities)
  })
  assert.deepEqual(closed, [['both', 'hers'], ['both']])
})

test('D2 files of fields come to their place with a version that is published, and with no other', async ({
  entities,
}) => {
  const event = commandEvent('entity.import')
  const placed = join(dirname(entities.scratchFolder), 'fields')
  const inPlace = () =>
    existsSync(placed) ? readdirSync(placed).filter(name => name.startsWith('fields.')) : []
  const writeFields = async (version: string) => {
    const folder = join(entities.scratchFolder, 'made', version)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, '0'), 'what is known')
    return folder
  }
  const refused = function* () {
    yield* lines(1, 'a')
    throw new Error('stopped here')
  }
  const made = letters('fields', 1, { writeFields })
  await assert.rejects(entities.publish(made, refused(), event), { message: 'stopped here' })
  assert.deepEqual(inPlace(), [])
  const stale = { ...made, replaces: 'another version' }
  assert.equal(await entities.publish(stale, lines(1, 'a'), event), undefined)
  assert.deepEqual(inPlace(), [])
  const unwritten = { ...made, writeFields: () => Promise.reject(new Error('the disk is full')) }
  assert.equal(await entities.publish(unwritten, lines(1, 'a'), event), 'anonymous')
  assert.deepEqual(inPlace(), [])
  assert.equal(await entities.publish(made, lines(1, 'b'), event), 'anonymous')
  const known = entities.keepsFields ? [(await entities.all()).get('fields')?.source] : []
  assert.deepEqual(
    inPlace(),
    known.map(source => source?.kind === 'records' && source.version),
  )
})

test('R1 a single record is written over what was read, and a revision takes it in', async storage => {
  const { entities } = storage
  await entities.publish(letters('two', 2), lines(2, 'a'), commandEvent('entity.import'))
  const base = await entityIn(storage, 'two')
  const json = JSON.stringify({ id: 3, title: 'new' })
  const write = { entity: base, key: 'a key', values: [3], json, added: 1, before: 0 } as const
  const put = commandEvent('record.put')
  assert.equal(await entities.writeRecord(write, put), true)
  assert.equal(await entities.writeRecord(write, put), false)
  const written = await entityIn(storage, 'two')
  assert.equal(written.source.count, 3)
  assert.ok((await recordsIn(storage, 'two')).includes(json))
  const ranks = () => Uint32Array.of(0, 1, 2)
  const revised = { ...letters('two', 3), ranks, of: written, slots: Uint32Array.of(0, 1, 2), added: [json] }
  assert.equal(await entities.revise(revised, commandEvent('entity.update')), 'anonymous')
  assert.deepEqual(await recordsIn(storage, 'two'), [...lines(2, 'a'), json])
})

test('R10 R13 several records are written together or not at all, and each has its history', async storage => {
  const { entities } = storage
  await entities.publish(letters('many', 2), lines(2, 'a'), commandEvent('entity.import'))
  const base = await entityIn(storage, 'many')
  const one = (id: number) =>
    ({ key: `key ${id}`, values: [id], json: JSON.stringify({ id, title: 'b' }), added: 1 }) as const
  const event = (id: number) => ({ ...commandEvent('record.put'), object: `many/${id}` })
  assert.equal(await entities.writeTogether(base, [one(3), one(4)], [event(3), event(4)]), true)
  assert.equal(await entities.writeTogether(base, [one(5), one(4)], [event(5), event(4)]), false)
  assert.equal((await entityIn(storage, 'many')).source.count, 4)
  assert.equal((await entities.history('many/4', null, 10)).length, 1)
  assert.deepEqual(await entities.history('many/5', null, 10), [])
})

test('R9 there is no room while new versions lag behind what is written, and there is again when they are made', async storage => {
  const { entities } = storage
  await entities.publish(letters('large', 2), lines(2, 'a'), commandEvent('entity.import'))
  const title = 'b'.repeat(1024 * 1024 - 100)
  let last = 2
  const written = async () => {
    const before = await entityIn(storage, 'large')
    entities.requireRoom(before)
    const ids = Array.from({ length: 17 }, () => ++last)
    const isWritten = await entities.writeTogether(
      before,
      ids.map(id => ({ key: `large ${id}`, values: [id], json: JSON.stringify({ id, title }), added: 1 })),
      ids.map(id => ({ ...commandEvent('record.put'), object: `large/${id}` })),
    )
    assert.ok(isWritten)
    return await entityIn(storage, 'large')
  }
  // A fold may come between the change and the look.
  const full = await until('the changes are not folded', written, ({ source }) =>
    source.version.includes('+'),
  )
  assert.throws(() => entities.requireRoom(full), Lagging)
  await assert.rejects(async () => entities.writeTogether(full, [], []), Lagging)
  await until('there is room', async () => {
    entities.requireRoom(await entityIn(storage, 'large'))
    return true
  })
})

test('EA4 Q21 of changes at once of what is declared, one with the tag is made, and none without is lost', async ({
  entities,
}) => {
  const event = commandEvent('entity.change')
  const imported = commandEvent('entity.import')
  const made = await Promise.all(
    ['a', 'b', 'c'].map(title =>
      entities.publish(letters('three', 1, { replaces: null }), lines(1, title), imported),
    ),
  )
  assert.deepEqual(made.toSorted(), ['anonymous', undefined, undefined])
  const entity = (await entities.all()).get('three') ?? assert.fail('it is not there')
  const texts = ['one', 'two', 'three', 'four', 'five', 'six']
  const declared = await Promise.all(
    texts.map(description =>
      entities.declare('three', { read: 'eperson', description }, entityTag(entity), event),
    ),
  )
  assert.deepEqual(declared.toSorted(), [...Array(5).fill('changed'), 'declared'])
  const relate = (name: string) => ({ fields: ['id'], to: { entity: name, fields: ['id'] } })
  await Promise.all(texts.map(name => entities.describe('three', { relate: relate(name) }, event)))
  const names = (await entities.all()).get('three')?.relations?.map(({ to }) => to.entity)
  assert.deepEqual(names?.toSorted(), texts.toSorted())
})

test('EA13 R2 new fields and records leave what is declared meanwhile as it is', async storage => {
  const { entities, people } = storage
  const event = commandEvent('entity.update')
  const person = { firstName: null, lastName: null, passwordHash: null, administrator: false }
  const email = 'ruth@fields.example.org'
  const ruth = await people.addEperson({ ...person, email }, commandEvent('eperson.add'))
  assert.ok(ruth !== 'exists')
  const rule = `eperson:${ruth.uuid}` as const
  const during = (change: () => Promise<unknown>): Entities => {
    let isFirst = true
    return {
      ...entities,
      openVersion: async entity => {
        const version = await entities.openVersion(entity)
        if (isFirst) await change()
        isFirst = false
        return version
      },
    }
  }
  const grow = (field: string, change: () => Promise<unknown>) => {
    const added = { add: [{ name: field, type: 'text', default: 'x' }] } as const
    return reshape(during(change), { name: 'grown', change: added, isPreview: false, event }, () => {})
  }
  const declared = async () => {
    const { write, description, declaredFields = [] } = await entityIn(storage, 'grown')
    return [write, description, ...declaredFields.map(({ name }) => name)]
  }
  await entities.publish(letters('grown', 2), lines(2, 'a'), event)
  await entities.changeWriteRule('grown', rule, event)
  await grow('first', () => entities.changeWriteRule('grown', null, event))
  assert.deepEqual(await declared(), [undefined, undefined, 'first'])

  await entities.changeWriteRule('grown', rule, event)
  await grow('second', () => people.deleteEperson(email, commandEvent('eperson.delete')))
  assert.deepEqual(await declared(), [undefined, undefined, 'first', 'second'])

  const describe = async () => {
    const entity = await entityIn(storage, 'grown')
    const { read, declaredFields = [] } = entity
    const now = {
      read,
      description: 'Grown',
      declaredFields: [...declaredFields, { name: 'title', required: true as const }],
    }
    assert.equal(await entities.declare('grown', now, entityTag(entity), event), 'declared')
  }
  await grow('third', describe)
  assert.deepEqual(await declared(), [undefined, 'Grown', 'first', 'second', 'third', 'title'])

  const file = join(entities.scratchFolder, 'grown.ndjson')
  writeFileSync(file, '{"id":1,"title":"b","first":null}\n')
  const require = async () => {
    const { read, declaredFields = [] } = await entityIn(storage, 'grown')
    const now = { read, declaredFields: declaredFields.map(one => ({ ...one, required: true as const })) }
    const of = entityTag(await entityIn(storage, 'grown'))
    assert.equal(await entities.declare('grown', now, of, event), 'declared')
  }
  const asked = { name: 'grown', kind: 'update', read: null, event } as const
  await assert.rejects(
    reviseFile(file, during(require), asked, () => {}),
    { name: 'Error', message: /first/ },
  )
})

test('D2 what goes is agreed to again where another import, a change or the end of the entity comes first', async storage => {
  const { entities } = storage
  const event = commandEvent('entity.import')
  const write = async (id: number) => {
    const entity = await entityIn(storage, 'four')
    const json = JSON.stringify({ id, title: 'new' })
    const change = { entity, key: `four ${id}`, values: [id], json, added: 1, before: 0 } as const
    assert.equal(await entities.writeRecord(change, commandEvent('record.put')), true)
  }
  for (const [meanwhile, changes, looks] of [
    [() => entities.publish(letters('four', 3), lines(3, 'b'), event), 9, 2],
    [() => write(8), 0, 2],
    [() => write(9), 1, 1],
    [() => entities.drop('four', commandEvent('entity.drop')), 9, 2],
  ] as const) {
    await entities.publish(letters('four', 2), lines(2, 'a'), event)
    let asked = 0
    const agree = async () => {
      const { source } = (await entities.all()).get('four') ?? {}
      const version = source?.kind === 'records' ? source.version : null
      if (asked++ === 0) await meanwhile()
      return { version, changes }
    }
    assert.equal(await entities.publish(letters('four', 1, { agree }), lines(1, 'c'), event), 'anonymous')
    assert.equal(asked, looks)
    assert.deepEqual(await recordsIn(storage, 'four'), lines(1, 'c'))
  }
})

test('D9 the trail is signed, pruned and read at one moment, and verifies', async storage => {
  const { trail } = storage
  for (let n = 0; n < 5; n++) await trail.record(commandEvent('group.add', `event ${n}`))
  await trail.checkpoint()
  assert.equal(await trail.checkpoint(), false)
  const verify = () => trail.read(reader => verifyTrail(reader, { maxFaults: 9, kept: null }, () => {}))
  const verdict = await verify()
  assert.deepEqual(verdict.faults, [])
  assert.ok(verdict.events >= 5)
  const before = await trail.read(async reader => reader.count(null))
  assert.equal(await trail.pruneSome(new Date(Date.now() + 1_000).toISOString()), before)
  assert.deepEqual((await verify()).faults, [])
  const changes = { before: null, after: { name: '1\0 "ö"' } }
  await trail.record({ ...commandEvent('group.add', 'after'), changes })
  const seen: unknown[] = []
  await trail.read(async reader => {
    for await (const event of reader.events({ since: null, until: null }))
      seen.push([event.object, event.changes])
  })
  assert.deepEqual(seen, [['after', JSON.stringify(changes).replace('\\u0000', '\uFFFD')]])
  assert.deepEqual((await verify()).faults, [])
})
