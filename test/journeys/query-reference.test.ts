import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { assertShown, examplesIn, follow, shownAddress } from '../support/clients/document.ts'
import { startDemoService } from '../support/data/demo.ts'
import { type Engine, engines } from '../support/service/engines.ts'
import { carrel } from '../support/service/process.ts'
import { type Service, temporaryFolder } from '../support/service/service.ts'

const examples = examplesIn('docs/reference/query-language.md')
const queries = examples.filter(({ language }) => language === 'pql')

/** Splits a block into queries, whose further lines are indented. */
const queriesIn = (text: string) => text.trim().split(/\n(?=\S)/)

/** Starts a service with the demo data. @returns it with a function that queries as the demo's reader */
async function startDemo(t: TestContext, engine: Engine) {
  const service = await startDemoService(t, { engine, env: { CARREL_BASE_URL: shownAddress } })
  const { stdout } = await carrel(service.dataFolder, ['token', 'reader@example.org'])
  return {
    service,
    ask: (parameters: Readonly<Record<string, string>>) => ask(service, stdout.trim(), parameters),
  }
}

async function ask({ address }: Service, token: string, parameters: Readonly<Record<string, string>>) {
  const response = await fetch(`${address}/api/query/v4?${new URLSearchParams(parameters)}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return response.text()
}

for (const engine of engines)
  describe(`docs/reference/query-language.md on ${engine}`, () => {
    test('Q14 Q20 Q21 Q22 Q23 Q26 Q27 every query gives the answer that is shown, and PQL is the AST beside it', async t => {
      const { ask } = await startDemo(t, engine)
      assert.ok(queries.length > 25, `${queries.length} examples`)
      for (const example of queries) {
        const [first = '', second, ...more] = queriesIn(example.text)
        assert.ok(example.answer, `${example.place} shows an answer`)
        for (const query of [first, ...(second === undefined ? [] : [second]), ...more])
          assertShown(example, await ask({ query }))
        if (second === undefined) continue
        const translated: unknown = JSON.parse(await ask({ query: first, ast_only: 'true' }))
        assert.deepEqual(translated, JSON.parse(second), example.place)
      }
    })

    test('Q14 Q15 Q16 Q23 Q26 every command gives the answer that is shown', async t => {
      const { service } = await startDemo(t, engine)
      const commands = examples.filter(({ language }) => language === 'sh')
      const given = await follow(service, commands, { folder: temporaryFolder(t) })
      for (const [at, command] of commands.entries()) assertShown(command, given[at] ?? '')
    })
  })

test('Q20 Q21 Q22 Q27 every operator, function and clause has an example', async t => {
  const { ask } = await startDemo(t, 'sqlite')
  const legalIn = async (query: string) => {
    const { legal } = JSON.parse(await ask({ query })) as { legal?: readonly string[] }
    assert.ok(legal, query)
    return legal
  }
  const operators = await legalIn('["from", "letters", ["nonsense"]]')
  const functions = await legalIn('letters[nonsense()] { }')
  assert.ok(operators.includes('~>') && functions.includes('avg'))
  const shown = queries.map(({ text }) => text).join()
  const clauses = ['limit', 'offset', 'order_by', 'group_by', 'having', 'distinct']
  const missing = [
    ...[...operators, ...clauses].filter(name => !shown.includes(`["${name}"`)),
    ...functions.filter(name => !shown.includes(`["function", "${name}"`)),
  ]
  assert.deepEqual(missing, [])
})
