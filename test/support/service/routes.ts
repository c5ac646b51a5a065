import assert from 'node:assert/strict'
import type { FastifyInstance } from 'fastify'

export interface Route {
  readonly method: string
  /** The framework's pattern, such as `/api/core/items/:uuid`. */
  readonly url: string
}

/** Lists every route of a service, parsed from the framework's output. */
export function routesOf({ app }: { readonly app: FastifyInstance }): readonly Route[] {
  const routes: Route[] = []
  const above: string[] = []
  for (const line of app.printRoutes({ commonPrefix: false, includeHooks: false }).split('\n')) {
    const [, indent = '', segment = '', methods] =
      /^((?:│ {3}| {4})*)(?:├──|└──) ?(.*?)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? []
    if (segment === '') continue
    const depth = indent.length / 4
    above.length = depth
    above[depth] = segment
    for (const method of methods?.split(', ') ?? []) routes.push({ method, url: above.join('') })
  }
  assert.ok(routes.length > 60, String(routes.length))
  return routes
}
