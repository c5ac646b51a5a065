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
import { collations, declaredTypes, lineOf, type Sheet, sheets } from '../support/data/query-worlds.ts'
import { readJson } from '../support/data/raw-json.ts'
import { wrongQueries } from '../support/data/wrong-queries.ts'
import { repeats } from '../support/scale.ts'
import { engines } from '../support/service/engines.ts'
import { withTables } from '../support/service/exposed-tables.ts'
import { type Service, startService } from '../support/service/service.ts'

/** Whatever is asked of whatever records: the answer is that of a plain reading of the query (support/query-oracle.ts). */
test('Q14 Q20 Q21 Q22 Q23 any query of imported records answers on both engines, byte for byte, what a plain reading answers', async t => {
  const services = await Promise.all(engines.map(engine => startService(t, { engine })))
  for (const sheet of someSheets()) {
    for (const service of services) await importSheets(service, sheet)
    const [world, other] = await Promise.all(services.map(service => worldOf(service, imported, relations)))
    assert.deepEqual(other, world)
    await everyQuery(services, world)
  }
})

test('Q14 Q20 Q21 Q22 Q23 any query of exposed tables answers what a plain reading answers', async t => {
  const { service, url } = await withTables(t, createTables)
  await exposeTables(service)
  await relate(service, tableNames.things, tableNames.owners)
  for (const sheet of someSheets()) {
    await fillTables(url, sheet)
    await everyQuery([service], await worldOf(service, Object.values(tableNames), relationsOfTables))
  }
})

test('Q14 Q21 any query of exposed tables and imported records together answers what a plain reading answers', async t => {
  const { service, url } = await withTables(t, createTables)
  await exposeTables(service)
  for (const sheet of someSheets()) {
    await fillTables(url, sheet)
    await importSheets(service, sheet)
    const names = [...Object.values(tableNames), ...imported]
    await everyQuery([service], await worldOf(service, names, relations))
  }
})

const imported = ['things', 'owners', 'links']
const fields = [['owner', 'number']] as const
const relations = [{ entities: ['things', 'owners'], fields }] as const
const relationsOfTables = [{ entities: [tableNames.things, tableNames.owners], fields }] as const

/** A number makes the run the same again. */
const seed = process.env.CARREL_TEST_SEED === undefined ? {} : { seed: Number(process.env.CARREL_TEST_SEED) }

const someSheets = () => fc.sample(sheets(25), { numRuns: repeats(4, 20), ...seed })

async function importSheets(service: Service, all: readonly Sheet[]): Promise<void> {
  for (const { name, key, records } of all) {
    const lines = records.map(record => `${lineOf(record)}\n`)
    const sheet = name as keyof typeof declaredTypes
    await importText(service, lines.join(''), {
      entity: name,
      key,
      types: new Map(Object.entries(declaredTypes[sheet])),
      collations: new Map(Object.entries(collations[sheet])),
    })
    // What is left in a version of records that were deleted and added again is no part of it.
    if (records.length % 2 === 1) continue
    const some = lines.filter((_, at) => at % 3 === 1)
    await changeText(service, some.join(''), { entity: name, kind: 'delete' })
    await changeText(service, some.slice(1).join(''), { entity: name, kind: 'update' })
  }
  await relate(service, 'things', 'owners')
}

const relate = ({ storage }: Service, things: string, owners: string) =>
  storage.entities.describe(
    things,
    { relate: { fields: ['owner'], to: { entity: owners, fields: ['number'] } } },
    commandEvent('entity.relate'),
  )

const everyQuery = (services: readonly Service[], world: World | undefined): Promise<void> => {
  assert.ok(world)
  return fc.assert(
    fc.asyncProperty(queries(world), query => check(services, world, query)),
    // A failure is made small for so long, and no longer.
    { numRuns: repeats(50, 250), interruptAfterTimeLimit: 20_000, ...seed },
  )
}

/** On all services the same bytes, in both languages, and as lines. */
async function check(services: readonly Service[], world: World, query: AskedQuery): Promise<void> {
  const text = printAst(query.ast)
  const expected = answerOf(world, query.entity, readJson(text), query.page)
  const pql = query.entity === null ? printPql(readJson(text)) : undefined
  let first: string | undefined
  for (const service of services)
    for (const written of pql === undefined ? [text] : [text, pql]) {
      const answer = await ask(service, written === text ? query.entity : null, written, query.page)
      const what = `${described(query)} ${written === text ? '' : written}`
      assert.equal(answer.status, 200, `${what}: ${answer.body}`)
      if (first === undefined) assertAnswer(answer, expected, what)
      first ??= answer.body
      assert.equal(answer.body, first, what)
      const headers = { accept: 'application/x-ndjson' }
      const lines = await ask({ ...service, headers }, query.entity, text, query.page)
      assert.equal(`[${lines.body.split('\n').slice(0, -1).join()}]`, first, what)
    }
}

for (const engine of engines)
  test(`Q14 a query with a mistake anywhere is told its place, and is never a 5xx (${engine})`, async t => {
    const service = await startService(t, { engine })
    const [sheet = []] = someSheets()
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
      { numRuns: repeats(150, 3_000), interruptAfterTimeLimit: 60_000, ...seed },
    )
  })
