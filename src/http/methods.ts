import { METHODS } from 'node:http'
import type { FastifyContextConfig, FastifyInstance, HTTPMethods } from 'fastify'
import { Problem } from '../problems.ts'

/** Every method that Node's parser knows, but CONNECT, which never becomes a request. */
const every = METHODS.filter(method => method !== 'CONNECT') as readonly HTTPMethods[]

/** Makes methods that HTTP has and the framework doesn't know ones that a route can refuse. */
export function knowEveryMethod(app: FastifyInstance): void {
  for (const method of every) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
}

/** Answers every other method at this address with 405 and `Allow` (RFC 9110 §15.5.6). */
export function allowOnly(
  app: FastifyInstance,
  url: string,
  allowed: readonly HTTPMethods[],
  config: FastifyContextConfig = {},
): void {
  const allow = allowed.join(', ')
  const refuse = async (request: { method: string }): Promise<never> => {
    throw new Problem('method-not-allowed', `${request.method} is not allowed here; allowed: ${allow}.`, {
      headers: { allow },
    })
  }
  app.route({
    url,
    method: every.filter(method => !allowed.includes(method)),
    exposeHeadRoute: false,
    config,
    // As a hook: whatever body comes along, the method is what is wrong.
    onRequest: refuse,
    handler: refuse,
  })
}
