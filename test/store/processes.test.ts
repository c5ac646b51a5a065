import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import type { NewProcess } from '../../src/model/processes.ts'
import { storeTests } from '../support/service/stores.ts'

/** Declares tests of processes, alerts and the metadata registry in the store. */
const test = storeTests()

const window = { offset: 0, limit: 10 }
const byId = { by: 'id', falling: false } as const
const nothing = { progress: null, lines: [], written: 0 }
const asked = (kind: NewProcess['kind'], parameters: NewProcess['parameters'] = {}): NewProcess => ({
  kind,
  eperson: null,
  parameters,
})

test('PR1 processes of an owner take turns, and as many as may wait', async ({ processes }) => {
  const place = { owner: 'one', atOnce: 1, waiting: 1 }
  const first = await processes.begin(asked('verify'), place)
  const second = await processes.begin(asked('verify'), place)
  assert.ok(first && 'id' in first && second && 'id' in second)
  assert.deepEqual([first.state, second.state], ['running', 'scheduled'])
  assert.equal(await processes.begin(asked('verify'), place), undefined)
  assert.equal(await processes.promote(second.id, place), 'waits')
  const ending = { state: 'completed', result: { files: 3 }, fault: null } as const
  assert.equal(await processes.end(first.id, 'one', ending, nothing), true)
  assert.equal(await processes.promote(second.id, place), 'runs')
  const { rows, total } = await processes.find(
    { kind: 'verify', states: ['completed', 'running'], order: byId },
    window,
  )
  assert.equal(total, 2)
  assert.deepEqual(
    rows.map(({ state, result }) => [state, result]),
    [
      ['completed', { files: 3 }],
      ['running', null],
    ],
  )
  assert.ok((await processes.owners()).includes('one'))
})

test('PR2 the log of a process is kept line by line, and a line that comes again is there once', async ({
  processes,
}) => {
  const begun = await processes.begin(asked('clean'), { owner: 'two', atOnce: null, waiting: 0 })
  assert.ok(begun && 'id' in begun)
  // More lines than one statement adds, so that pieces of each size are used.
  const numbers = Array.from({ length: 123 }, (_, at) => at + 1)
  const lines = numbers.map(n => ({ n, time: '2026-01-01T00:00:00.000Z', text: `line ${n} \0` }))
  const progress = { done: 3, total: 9, unit: 'files' }
  const news = { progress, lines, written: 123 }
  for (let again = 0; again < 2; again++) assert.equal(await processes.keep(begun.id, 'two', news), 'wanted')
  const log = await processes.lines(begun.id, 1, 1_000)
  assert.deepEqual([log.lines.map(({ n }) => n), log.left], [numbers.slice(1), 0])
  assert.ok(log.lines.at(-1)?.text.startsWith('line 123'))
  assert.deepEqual((await processes.one(begun.id))?.progress, progress)
  assert.equal(await processes.keep(begun.id, 'another', news), 'lost')
  // The end repeats the same news, as after a commit whose answer was lost.
  const ending = { state: 'completed', result: null, fault: null } as const
  assert.equal(await processes.end(begun.id, 'two', ending, news), true)
  assert.deepEqual((await processes.lines(begun.id, 1, 1_000)).lines, log.lines)
})

test('PR1 a process that is cancelled hears of it, and one that has ended can be removed', async ({
  processes,
}) => {
  const begun = await processes.begin(asked('import'), { owner: 'three', atOnce: null, waiting: 0 })
  assert.ok(begun && 'id' in begun)
  assert.equal(await processes.remove(begun.id, commandEvent('process.delete')), 'running')
  assert.equal(await processes.cancel(begun.id, commandEvent('process.cancel')), 'running')
  assert.equal(await processes.look(begun.id, 'three'), 'cancelled')
  await processes.interrupt(['three'])
  assert.equal(await processes.look(begun.id, 'three'), 'lost')
  assert.equal(await processes.remove(begun.id, commandEvent('process.delete')), 'interrupted')
  assert.equal(await processes.one(begun.id), undefined)
})

test('EA7 of many at once that exclude each other one begins, and the others are told of it; old ones are pruned', async ({
  processes,
}) => {
  const place = { owner: 'four', atOnce: null, waiting: 0 }
  const alone = { ...asked('ingest', { name: 'letters' }), aloneIn: 'name' }
  const begun = await Promise.all(Array.from({ length: 20 }, () => processes.begin(alone, place)))
  const first = begun.find(one => one && 'id' in one)
  assert.ok(first && 'id' in first)
  assert.deepEqual(
    begun.filter(one => one !== first),
    Array(19).fill({ rival: first.id }),
  )
  const other = await processes.begin({ ...asked('ingest', { name: 'books' }), aloneIn: 'name' }, place)
  assert.ok(other && 'id' in other)
  const otherKind = await processes.begin({ ...alone, kind: 'import' }, place)
  assert.ok(otherKind && 'id' in otherKind)
  for (const by of ['id', 'begun', 'ended'] as const)
    for (const falling of [false, true]) {
      const search = { kind: 'ingest', order: { by, falling } } as const
      const ids = (await processes.find(search, window)).rows.map(({ id }) => id)
      assert.deepEqual(falling ? ids.toReversed() : ids, [first.id, other.id], by)
    }
  await processes.interrupt(['four'])
  const again = await processes.begin(alone, place)
  assert.ok(again && 'id' in again)
  await processes.prune('9999', 100)
  assert.equal(await processes.one(first.id), undefined)
})

test('S5 there is one alert at most, it changes, and what it allows holds from the next look-up on', async ({
  alerts,
  sessions,
}) => {
  const alert = { message: 'Closed', allowSessions: 'all', countdownTo: null, active: false } as const
  assert.deepEqual(await alerts.add(alert, commandEvent('alert.change')), { id: 1, ...alert })
  assert.equal(await alerts.add(alert, commandEvent('alert.change')), undefined)
  const changed = { id: 1, ...alert, message: 'Open', active: true }
  assert.deepEqual(await alerts.change(changed, commandEvent('alert.change')), changed)
  assert.equal(await alerts.change({ ...changed, id: 2 }, commandEvent('alert.change')), undefined)
  assert.deepEqual(await alerts.all(), [changed])
  for (const [allowSessions, active, allowed] of [
    ['admin', true, 'admin'],
    ['current', true, 'current'],
    ['admin', false, 'all'],
  ] as const) {
    await alerts.change({ ...changed, allowSessions, active }, commandEvent('alert.change'))
    await sessions.stampOf('00000000-0000-4000-8000-000000000000')
    assert.equal(sessions.allowed(), allowed)
  }
})

test('S6 schemas and fields of metadata are added once, found by what is asked, changed and removed', async ({
  registry,
}) => {
  const wanted = { prefix: 'local', namespace: 'http://example.org/local/' }
  const atOnce = await Promise.all(
    [1, 2, 3].map(() => registry.addSchema(wanted, commandEvent('metadata-schema.add'))),
  )
  const schema = atOnce.find(one => typeof one === 'object')
  assert.ok(typeof schema === 'object')
  assert.deepEqual(
    atOnce.filter(one => one !== schema),
    ['exists', 'exists'],
  )
  const field = { element: 'shelf', qualifier: 'row', scopeNote: null }
  const added = await registry.addField(schema.id, field, commandEvent('metadata-field.add'))
  assert.ok(typeof added === 'object')
  assert.deepEqual(await registry.field(added.id), { id: added.id, schema, ...field })
  assert.equal(await registry.addField(schema.id, field, commandEvent('metadata-field.add')), 'exists')
  assert.equal(await registry.addField(4711, field, commandEvent('metadata-field.add')), 'no-schema')
  for (const search of [
    { schema: 'local' },
    { element: 'shelf' },
    { name: 'local.shelf.row' },
    { begins: 'row' },
  ])
    assert.equal((await registry.fields(search, window)).total, 1, JSON.stringify(search))
  assert.equal((await registry.fields({ name: 'local.shelf\0' }, window)).total, 0)
  const noted = await registry.changeField(added.id, 'where it stands', commandEvent('metadata-field.change'))
  assert.equal(noted?.scopeNote, 'where it stands')
  const renamed = await registry.changeSchema(
    schema.id,
    'http://example.org/2/',
    commandEvent('metadata-schema.change'),
  )
  assert.deepEqual(await registry.schema(schema.id), renamed)
  assert.deepEqual(
    (await registry.schemas(window)).rows.map(({ prefix }) => prefix),
    ['dc', 'local'],
  )
  assert.equal(await registry.removeField(added.id, commandEvent('metadata-field.delete')), true)
  assert.equal(await registry.removeSchema(schema.id, commandEvent('metadata-schema.delete')), true)
  assert.equal(await registry.schema(schema.id), undefined)
})
