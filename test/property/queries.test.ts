import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import { printAst } from '../support/data/arbitrary-conditions.ts'
import { type AskedQuery, queries } from '../support/data/arbitrary-queries.ts'
import { changeText, importText } from '../support/data/imports.ts'
import { printPql } from '../support/data/print-pql.ts'
import { ask, assertAnswer, described, worldOf } from '../support/data/query-answers.ts'
import type { World } from '../support/data/query-oracle.ts'
import { answerOf } from '../support/data/query-oracle-rows.ts'
import { createTables, exposeTables, fillTables, tableNames } from '../support/data/query-tables.ts'
import {
  collations,
  declaredTypes,
  forSheets,
  lineOf,
  type Sheet,
  sheets,
} from '../support/data/query-worlds.ts'
import { readJson } from '../support/data/raw-json.ts'
import { wrongQueries } from '../support/data/wrong-queries.ts'
import { repeats, runs } from '../support/scale.ts'
import { allEngines, engines } from '../support/service/engines.ts'
import { withTables } from '../support/service/exposed-tables.ts'
import { type Service, startService } from '../support/service/service.ts'

/** Whatever the records and the query, the answer must be that of the oracle (support/query-oracle.ts). */
test('Q14 Q20 Q21 Q22 Q23 Q34 any query of imported records answers on both engines, byte for byte, what a plain reading answers', async t => {
  const services = await Promise.all(allEngines.map(engine => startService(t, { engine })))
  await forSheets(runs(2, 20), async (sheet, seed) => {
    for (const service of services) await importSheets(service, sheet)
    const [world, other] = await Promise.all(services.map(service => worldOf(service, imported, relations)))
    assert.ok(world)
    assert.deepEqual(other, world)
    await everyQuery(services, world, { numRuns: repeats(50, 500), seed })
  })
})

test('Q14 Q20 Q21 Q22 Q23 Q34 any query of exposed tables, and of imported records beside them, answers what a plain reading answers', async t => {
  const { service, url } = await withTables(t, createTables)
  await exposeTables(service)
  await relateAll(service, relations.slice(3))
  const fields = [['thing', 'id']] as const
  const mixed = [
    { entities: ['links', tableNames.things], fields },
    { entities: [tableNames.links, 'things'], fields },
  ] as const
  await forSheets(runs(2, 20), async (sheet, seed) => {
    await fillTables(url, sheet)
    await importSheets(service, sheet)
    await relateAll(service, mixed)
    const all = [...relations, ...mixed]
    const world = await worldOf(service, [...Object.values(tableNames), ...imported], all)
    await everyQuery([service], world, { numRuns: repeats(35, 500), seed })
  })
})

const imported = ['things', 'owners', 'links']
/** Relations by fields, and by paths through lists. */
const relationsOf = (things: string, owners: string, links: string) =>
  [
    { entities: [things, owners], fields: [['owner', 'number']] },
    { entities: [things, links], fields: [['tags[*]', 'label']] },
    { entities: [links, owners], fields: [['note', 'about.list[*]']] },
  ] as const
const relations = [
  ...relationsOf('things', 'owners', 'links'),
  ...relationsOf(tableNames.things, tableNames.owners, tableNames.links),
]

async function importSheets(service: Service, all: readonly Sheet[]): Promise<void> {
  for (const sheet of all) {
    const { name, key, records } = sheet
    const lines = records.map(record => `${lineOf(record)}\n`)
    await importText(service, lines.join(''), {
      entity: name,
      key,
      types: new Map(Object.entries(declaredTypes[name as keyof typeof declaredTypes])),
      collations: new Map(Object.entries(collations[name as keyof typeof collations])),
    })
    if (records.length % 2 === 1) continue
    // A version may still hold old copies of records that were changed, or deleted and added again; no answer
    // may show them.
    const some = lines.filter((_, at) => at % 3 === 1)
    await changeText(service, some.join(''), { entity: name, kind: 'delete' })
    await changeText(service, changedLines(sheet).join(''), { entity: name, kind: 'update' })
  }
  await relateAll(service, relations.slice(0, 3))
}

/**
 * Returns lines that change the records: a third of them get the values of their neighbors, and all but one
 * of the deleted ones return.
 */
const changedLines = ({ key, records }: Sheet): readonly string[] =>
  records.flatMap((record, at) => {
    const keys = Object.fromEntries([key].flat().map(name => [name, record[name] ?? 'null']))
    if (at % 3 === 0) return [`${lineOf({ ...records[at + 1], ...keys })}\n`]
    return at % 3 === 1 && at > 1 ? [`${lineOf(record)}\n`] : []
  })

async function relateAll({ storage }: Service, all: World['relations']): Promise<void> {
  for (const { entities, fields } of all) {
    const [from, to] = entities
    const [one, other] = fields[0] ?? ['', '']
    const relate = { fields: [one], to: { entity: to, fields: [other] } }
    await storage.entities.describe(from, { relate }, commandEvent('entity.relate'))
  }
}

const everyQuery = (
  services: readonly Service[],
  world: World,
  howOften: ReturnType<typeof runs>,
): Promise<void> =>
  fc.assert(
    // Few answers depend on the engine, so the second one gets only a quarter of the queries.
    fc.asyncProperty(queries(world), fc.constantFrom(1, 1, 1, 2), (query, count) =>
      check(services.slice(0, count), world, query),
    ),
    // The time for making a failure smaller is limited.
    { ...howOften, interruptAfterTimeLimit: 60_000 },
  )

/** Checks that all services answer with the same bytes, in both languages, and as lines. */
async function check(services: readonly Service[], world: World, query: AskedQuery): Promise<void> {
  const text = printAst(query.ast)
  const expected = answerOf(world, query.entity, readJson(text), query.page)
  const pql = query.entity === null ? printPql(readJson(text)) : undefined
  let first: string | undefined
  for (const service of services) {
    const what = described(query)
    const answer = await ask(service, query.entity, text, query.page)
    assert.equal(answer.status, 200, `${what}: ${answer.body}`)
    if (first === undefined) assertAnswer(answer, expected, what)
    first ??= answer.body
    assert.equal(answer.body, first, what)
    const headers = { accept: 'application/x-ndjson' }
    const lines = await ask({ ...service, headers }, query.entity, text, query.page, false)
    assert.equal(`[${lines.body.split('\n').slice(0, -1).join()}]`, first, what)
    assert.equal(lines.next, answer.next, `Link of ${what} without a total`)
    if (pql === undefined) continue
    const { status, body } = await ask(service, null, pql, query.page)
    assert.deepEqual([status, body], [200, first], `${what} ${pql}`)
  }
}

for (const engine of engines)
  test(`Q14 a query with a mistake anywhere is told its place, and is never a 5xx (${engine})`, async t => {
    const service = await startService(t, { engine })
    const [sheet = []] = fc.sample(sheets(25), runs(1, 1))
    await importSheets(service, sheet)
    const world = await worldOf(service, imported, relations)
    await fc.assert(
      fc.asyncProperty(wrongQueries(world), async ({ entity, ast, pointer }) => {
        const { status, body } = await ask(service, entity, printAst(ast))
        const what = `${entity ?? ''}?query=${printAst(ast)}: ${body}`
        assert.equal(status, 400, what)
        const problem = JSON.parse(body) as { parameter?: string; pointer?: string; detail?: string }
        assert.equal(problem.parameter, 'query', what)
        assert.ok(problem.pointer?.startsWith(pointer), `${what} (expected at ${pointer})`)
        assert.ok(problem.detail?.includes(problem.pointer ?? ' '), what)
      }),
      { ...runs(75, 3_000), interruptAfterTimeLimit: 60_000 },
    )
  })
