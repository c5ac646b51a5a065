import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify'
import { METHODS } from '../lib/node-http.ts'
import { type Addresses, pathOf } from './addresses.ts'
import { Problem } from './problems.ts'

/** Every method that Node's parser knows, except CONNECT, which never becomes a request. */
const every = METHODS.filter(method => method !== 'CONNECT') as readonly HTTPMethods[]

/** The methods that `Allow` lists, in this order. */
const common = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Refuses a request that no route takes: with 404, or if the path has routes for other methods, with 405 and
 * `Allow` (RFC 9110 §15.5.6).
 * @returns a function to call for each request before its body is read, so that no fault of the body hides
 *   the wrong address
 */
export function refuseUnrouted(app: FastifyInstance, { api }: Addresses): (request: FastifyRequest) => void {
  // Adds the HTTP methods that the framework doesn't know.
  for (const method of every) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)

  const routes = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    routes.set(url, methods)
  })
  // Compiled when the first request is refused: there are hundreds.
  let patterns: readonly (readonly [RegExp, ReadonlySet<string>])[] | undefined

  return request => {
    if (!request.is404) return
    const path = decodeURI(pathOf(request.url))
    patterns ??= Array.from(routes, ([url, methods]) => [patternOf(url), methods] as const)
    const found = patterns.filter(([pattern]) => pattern.test(path))
    if (found.length === 0)
      throw new Problem('not-found', `There is nothing at ${pathOf(request.originalUrl)}; start at ${api}.`)
    // `/policies/search/group` also matches `/policies/:id/group`, but is a route of its own.
    const exact = routes.get(path)
    const allowed = new Set(
      (exact ? [exact] : found.map(([, methods]) => methods)).flatMap(methods => [...methods]),
    )
    throw methodNotAllowed(
      request,
      common.filter(method => allowed.has(method)),
    )
  }
}

export function methodNotAllowed({ method }: FastifyRequest, allowed: readonly string[]): Problem {
  const allow = allowed.join(', ')
  return new Problem('method-not-allowed', `${method} is not allowed here; allowed: ${allow}.`, {
    headers: { allow },
  })
}

/**
 * Matches paths as the router does: a parameter is one segment, `*` is the rest, and a trailing slash changes nothing.
 */
const patternOf = (url: string) =>
  new RegExp(
    `^${url
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:[^/]+/g, '[^/]+')
      .replace(/\\\*$/, '.+')}/?$`,
  )
