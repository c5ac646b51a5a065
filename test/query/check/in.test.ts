import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listOf } from '../../../src/model/plan.ts'
import { relationsBetween } from '../../../src/model/relations.ts'
import { ask, askBase, entity, known, mistake, refs, where } from './known.ts'

const page = { order: [], offset: 0, limit: null, total: false }
const text = (name: string) => ({ name, path: [], type: 'text' }) as const
const integer = (name: string) => ({ name, path: [], type: 'integer' }) as const
const column = (field: { name: string; type: string }) => ({
  name: field.name,
  value: { kind: 'field', field },
  type: field.type,
})
const rows = (...fields: readonly { name: string; type: string }[]) => ({
  kind: 'rows',
  columns: fields.map(column),
  groups: null,
  having: null,
  distinct: false,
  order: [],
})
const equal = (field: unknown, value: string) => ({
  kind: 'compare',
  field,
  operator: '=',
  value: { kind: 'text', text: value },
  negated: false,
})

test('Q21 in takes the rows of a subquery in both forms', () => {
  const expected = {
    kind: 'in plan',
    fields: [refs.name],
    plan: {
      entity: known.get('facts'),
      where: equal(text('name'), 'os'),
      shape: rows(text('certname')),
      page,
    },
    negated: false,
  }
  const condition = ['=', 'name', 'os']
  for (const query of [
    ['in', 'name', ['from', 'facts', ['extract', 'certname', condition]]],
    ['in', ['name'], ['from', 'facts', ['extract', ['certname'], condition]]],
    ['in', 'name', ['extract', 'certname', ['select_facts', condition]]],
    ['in', ['name'], ['extract', ['certname'], ['select_facts', condition]]],
    // The rows don't depend on their order.
    ['in', 'name', ['from', 'facts', ['extract', 'certname', condition], ['order_by', ['name']]]],
  ])
    assert.deepEqual(where(query), expected, JSON.stringify(query))
  assert.deepEqual(where(['not', ['in', 'name', ['extract', 'certname', ['select_facts', condition]]]]), {
    ...expected,
    negated: true,
  })
})

test('Q21 a subquery may be paged, and without a condition it has all records', () => {
  const found = where([
    'in',
    'name',
    [
      'from',
      'facts',
      ['extract', 'certname'],
      ['order_by', [['name', 'desc'], 'certname']],
      ['offset', 1],
      ['limit', 2],
    ],
  ])
  assert.deepEqual(found?.kind === 'in plan' && found.plan, {
    entity: known.get('facts'),
    where: null,
    shape: {
      ...rows(text('certname')),
      order: [
        { by: { kind: 'field', field: text('name') }, descending: true },
        { by: 0, descending: false },
      ],
    },
    page: { ...page, offset: 1, limit: 2 },
  })
  const all = where(['in', 'name', ['extract', 'certname', ['select_facts']]])
  assert.equal(all?.kind === 'in plan' && all.plan.where, null)
})

test('Q21 names of entities have _ and - alike', () => {
  for (const query of [
    ['in', 'data', ['from', 'fact_contents', ['extract', 'value']]],
    ['in', 'data', ['from', 'fact-contents', ['extract', 'value']]],
    ['in', 'data', ['extract', 'value', ['select_fact_contents']]],
  ]) {
    const found = where(query)
    assert.equal(found?.kind === 'in plan' && found.plan.entity.name, 'fact-contents')
  }
  assert.equal(askBase(['from', 'fact_contents']).entity.name, 'fact-contents')
})

test('Q21 several fields are compared with lists of values', () => {
  const size = (value: string, negated: boolean) => ({
    kind: 'compare',
    field: refs.size,
    operator: '=',
    value: { kind: 'number', text: value },
    negated,
  })
  const query = ['in', ['name', 'size'], ['array', [['x', 1]]]]
  assert.deepEqual(where(query), { kind: 'and', of: [equal(refs.name, 'x'), size('1', false)] })
  // A record with a null in one of the fields matches neither.
  const negated = where(['not', query])
  const parts = negated?.kind === 'and' ? negated.of : []
  assert.deepEqual(
    new Set(parts),
    new Set([
      { kind: 'null', field: refs.name, negated: true },
      { kind: 'null', field: refs.size, negated: true },
      { kind: 'or', of: [{ ...equal(refs.name, 'x'), negated: true }, size('1', true)] },
    ]),
  )
  assert.deepEqual(where(['in', ['name', 'size'], ['array', []]]), { kind: 'none' })
})

test('Q21 subquery is a short way to write in, in both directions of a relation', () => {
  assert.deepEqual(where(['subquery', 'artists', ['=', 'name', 'Turner']], { entity: 'artworks' }), {
    kind: 'in plan',
    fields: [integer('artist_id')],
    plan: {
      entity: known.get('artists'),
      where: equal(text('name'), 'Turner'),
      shape: rows(integer('id')),
      page,
    },
    negated: false,
  })
  assert.deepEqual(where(['not', ['subquery', 'artworks', ['=', 'title', 'Sea']]], { entity: 'artists' }), {
    kind: 'in plan',
    fields: [integer('id')],
    plan: {
      entity: known.get('artworks'),
      where: equal(text('title'), 'Sea'),
      shape: rows(integer('artist_id')),
      page,
    },
    negated: true,
  })
  assert.deepEqual(
    where(['subquery', 'facts', ['=', 'name', 'os']], { entity: 'nodes' }),
    where(['in', 'certname', ['from', 'facts', ['extract', 'certname', ['=', 'name', 'os']]]], {
      entity: 'nodes',
    }),
  )
})

test('Q21 ["fact", name] asks the facts of a node', () => {
  const facts = (condition: unknown) => ['subquery', 'facts', ['and', ['=', 'name', 'os'], condition]]
  for (const [operator, value] of [
    ['=', 'Linux'],
    ['~', '^L'],
    ['>=', 5],
    ['in', ['array', ['a', 5]]],
  ])
    assert.deepEqual(
      where([operator, ['fact', 'os'], value], { entity: 'nodes' }),
      where(facts([operator, 'value', value]), { entity: 'nodes' }),
    )
})

test('Q21 a relation whose fields are gone or have other types is refused', () => {
  const artists = known.get('artists') ?? assert.fail()
  const changed = (fields: Parameters<typeof entity>[1]) =>
    new Map([...known, ['artists', { ...artists, fields: entity('artists', fields).fields }]])
  const query = ['subquery', 'artists', ['null?', 'name', false]]
  const run = (entities: typeof known) => mistake(() => ask(query, { entity: 'artworks', entities })).message
  assert.match(run(changed({ name: 'text' })), /artists has no such field any more/)
  assert.match(run(changed({ id: 'text', name: 'text' })), /can't be compared/)
})

test('Q21 entities are related as declared, or by certname', () => {
  assert.deepEqual(relationsBetween(known, 'artworks', 'artists'), [['artist_id', 'id']])
  assert.deepEqual(relationsBetween(known, 'artists', 'artworks'), [['id', 'artist_id']])
  assert.deepEqual(relationsBetween(known, 'nodes', 'facts'), [['certname', 'certname']])
  assert.equal(relationsBetween(known, 'nodes', 'artists'), undefined)
  assert.equal(relationsBetween(known, 'nodes', 'missing'), undefined)
})

const withDefault = (defaultCondition: string) => {
  const nodes = known.get('nodes') ?? assert.fail()
  return new Map([...known, ['nodes', { ...nodes, defaultCondition }]])
}

test('Q25 a default condition is added unless the query mentions its fields', () => {
  const entities = withDefault('["null?", "deactivated", true]')
  const active = { kind: 'null', field: { name: 'deactivated', path: [], type: 'date-time' }, negated: false }
  const onNodes = (query: unknown) => ask(query, { entity: 'nodes', entities }).where
  assert.deepEqual(onNodes(null), active)
  assert.deepEqual(onNodes(['extract', 'certname']), active)
  assert.deepEqual(onNodes(['=', 'certname', 'x']), {
    kind: 'and',
    of: [equal(text('certname'), 'x'), active],
  })
  assert.deepEqual(onNodes(['not', ['or', ['null?', 'deactivated', true]]]), { ...active, negated: true })
  assert.deepEqual(
    onNodes(['or', ['=', 'certname', 'x'], ['>', 'deactivated', '2026']]),
    ask(['or', ['=', 'certname', 'x'], ['>', 'deactivated', '2026']], { entity: 'nodes' }).where,
  )
  assert.deepEqual(askBase(['from', 'nodes', ['limit', 1]], { entities }).where, active)
  // Showing a field, or sorting by it, is not a condition.
  assert.deepEqual(
    askBase(['from', 'nodes', ['extract', 'deactivated'], ['order_by', ['deactivated']]], { entities }).where,
    active,
  )
})

test('Q25 a subquery has the default condition of its own entity', () => {
  const entities = withDefault('["null?", "deactivated", true]')
  const inner = (query: unknown) => {
    const found = ask(['subquery', 'nodes', query], { entity: 'facts', entities }).where
    return found?.kind === 'in plan' ? found.plan.where : assert.fail()
  }
  assert.deepEqual(
    inner(['=', 'certname', 'x']),
    ask(['=', 'certname', 'x'], { entity: 'nodes', entities }).where,
  )
  assert.equal(inner(['null?', 'deactivated', false])?.kind, 'null')
  const outer = ask(['subquery', 'facts', ['=', 'name', 'x']], { entity: 'nodes', entities }).where
  assert.equal(outer?.kind, 'and')
})

test('Q25 a default condition that can not be used any more refuses the query', () => {
  for (const condition of [
    '["=", "gone", 1]',
    '["subquery", "facts", ["=", "name", "x"]]',
    '["in", "certname", ["from", "facts", ["extract", "certname"]]]',
    '["match", "*", "x"]',
    '[',
  ]) {
    const { message, at } = mistake(() => ask(null, { entity: 'nodes', entities: withDefault(condition) }))
    assert.match(
      message,
      /The default condition of nodes is wrong, and its operator has to change it: /,
      condition,
    )
    assert.deepEqual(at, { pointer: '' })
  }
})

test('Q14 without a query all records are listed', () => {
  const plan = ask(null)
  assert.deepEqual(plan, listOf(plan.entity, page))
})
