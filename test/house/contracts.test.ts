import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApi } from '../../scripts/open-api.ts'
import { describedRoutes } from '../../src/http/contract.ts'
import { problems } from '../../src/http/problems.ts'
import { recordAnswers } from '../support/contracts/record-answers.ts'

/** Of each service that is made in this process. */
const services: ReturnType<typeof describedRoutes>[] = []
recordAnswers(app => {
  services.push(describedRoutes(app))
  return () => {}
})

const document = JSON.parse(await openApi()) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
  readonly components: { readonly responses: Readonly<Record<string, unknown>> }
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
)

test('OD1 every route has a contract', () => {
  const [routes = []] = services
  assert.ok(routes.length > 200, `${routes.length} routes`)
  assert.deepEqual(
    routes.filter(({ contract }) => contract === undefined).map(({ method, url }) => `${method} ${url}`),
    [],
  )
})

test('OD1 every operation has a name of its own', () => {
  const names = operations.map(({ operationId }) => operationId)
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
  assert.ok(operations.length > 200)
})

test('OD1 every problem that a contract names is in the catalogue, and every one in the catalogue is in a contract', () => {
  const named = new Set(Object.keys(document.components.responses).flatMap(name => name.split('.')))
  named.delete('page')
  const known = Object.keys(problems)
  assert.deepEqual(
    [...named].filter(code => !known.includes(code)),
    [],
  )
  assert.deepEqual(
    known.filter(code => !named.has(code)),
    [],
  )
})

test('OD1 no two paths differ only in the names of their parameters', () => {
  const shapes = Object.keys(document.paths).map(path => path.replaceAll(/\{[^}]+\}/g, '{}'))
  assert.deepEqual(
    shapes.filter((shape, at) => shapes.indexOf(shape) !== at),
    [],
  )
})
