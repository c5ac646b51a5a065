import assert from 'node:assert/strict'
import type { FastifyInstance } from 'fastify'
import type { Access } from '../../../src/http/access.ts'
import type { OpenApi } from '../../../src/openapi/document.ts'

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

export interface StatedRoute extends Route {
  /** The access that the route states. */
  readonly access: Access
}

/** Paths in OpenAPI of the patterns with `*`. */
const wildcards: Readonly<Record<string, string>> = {
  '/api/query/v4/:entity*': '/api/query/v4/{entity}/{key}',
  '/console*': '/console/{page}',
  '/metrics/v2*': '/metrics/v2/read/{name}',
}

/** Adds to routes what OpenAPI says about who may use them. */
export const withAccess = (routes: readonly Route[], { paths }: OpenApi): readonly StatedRoute[] =>
  routes.map(route => {
    const path = wildcards[route.url] ?? route.url.replaceAll(/:(\w+)/g, '{$1}')
    const operation = paths[path]?.[route.method.toLowerCase()]
    assert.ok(operation, `${route.method} ${route.url} doesn’t say who may use it`)
    return { ...route, access: operation['x-access'] }
  })

/** True if a request to the route changes something. */
export const isChange = ({ access, url }: StatedRoute): boolean =>
  access.does === 'change' && !url.startsWith('/api/statistics/') && !isProof(url)

/** True for routes whose requests authenticate themselves. */
const isProof = (url: string): boolean => /^\/metrics$|\/authn\/log(in|out)$/.test(url)

/** The routes whose objects the reader of the tests may not use. Only lists and searches are open without a right. */
export const isClosed = ({ access: { who }, method, url }: StatedRoute): boolean =>
  who === 'administrator' ||
  (typeof who === 'object' &&
    !isProof(url) &&
    !url.startsWith('/api/authz/authorizations/') &&
    (url.includes(':') || `${method} ${url}` === 'POST /api/eperson/epersons'))

/** The routes for everyone who is logged in, about themselves and their belongings. */
export const isForLogins = (route: StatedRoute): boolean =>
  !isClosed(route) &&
  (route.access.who === 'eperson' ||
    (typeof route.access.who === 'object' && route.access.who.login) ||
    /event[-_]counts$/.test(route.url))

export const isOpen = (route: StatedRoute): boolean =>
  !isClosed(route) && !isForLogins(route) && !isProof(route.url)
