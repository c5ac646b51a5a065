import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bareOpenApi, openApi } from '../../scripts/open-api.ts'
import { describedRoutes } from '../../src/http/contract.ts'
import { problems } from '../../src/http/problems.ts'
import { recordAnswers } from '../support/contracts/record-answers.ts'

/** The routes of all services started in this process. */
const services: ReturnType<typeof describedRoutes>[] = []
recordAnswers(app => {
  services.push(describedRoutes(app))
  return () => {}
})

const document = JSON.parse(await openApi()) as {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly operationId: string
            readonly description?: string
            readonly responses: Readonly<Record<string, unknown>>
          }
        >
      >
    >
  >
  readonly components: Readonly<Record<'responses' | 'schemas', Readonly<Record<string, unknown>>>>
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

test('OD1 every operation and every component has a name of its own, also in camel, Pascal and snake case', () => {
  assert.ok(operations.length > 200)
  for (const names of [
    operations.map(({ operationId }) => operationId),
    ...Object.values(document.components).map(components => Object.keys(components)),
  ]) {
    const plain = names.map(name => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase())
    assert.deepEqual(
      names.filter((_, at) => plain.indexOf(plain[at] ?? '') !== at),
      [],
    )
    // The names come from the contracts, and none needed a number to be unique.
    assert.deepEqual(
      names.filter(name => /_\d+$/.test(name)),
      [],
    )
  }
})

test('OD1 every operation has a description', () => {
  assert.deepEqual(
    operations.filter(({ description = '' }) => !/^\S.*\.$/s.test(description)).map(one => one.operationId),
    [],
  )
})

test('OD1 an operation that is there only if something is configured says so, and lists 404', async () => {
  const bare = JSON.parse(await bareOpenApi()) as typeof document
  const isConditional = ({ description = '' }) =>
    /There only if .+ is configured; otherwise 404\./.test(description)
  const missing = operations.filter(({ path, method }) => bare.paths[path]?.[method] === undefined)
  assert.ok(missing.length > 10, `${missing.length} operations`)
  assert.deepEqual(
    operations.filter(isConditional).map(({ operationId }) => operationId),
    missing.map(({ operationId }) => operationId),
  )
  assert.deepEqual(
    missing.filter(({ responses }) => responses['404'] === undefined).map(one => one.operationId),
    [],
  )
})

test('OD1 no schema refers to itself, which types made of the document could not', () => {
  const schemas = Object.entries(document.components.schemas)
  const referred = new Map(
    schemas.map(([name, schema]) => [
      name,
      [...JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, one = '']) => one),
    ]),
  )
  const leadsTo = (name: string, seen: Set<string>): boolean =>
    (referred.get(name) ?? []).some(one => {
      if (one === [...seen][0]) return true
      if (seen.has(one)) return false
      seen.add(one)
      return leadsTo(one, seen)
    })
  assert.deepEqual(
    schemas.map(([name]) => name).filter(name => leadsTo(name, new Set([name]))),
    [],
  )
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
