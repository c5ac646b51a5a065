import type { FastifyRequest } from 'fastify'
import { Problem } from './problems.ts'

/**
 * The JSON object that a request's body is.
 * @throws Problem 415 for another media type, 400 for anything else
 */
export function jsonObject(request: FastifyRequest): Readonly<Record<string, unknown>> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem('unsupported-media-type', 'The body must be application/json.')
  const value = parse((request.body as Buffer | undefined) ?? Buffer.alloc(0))
  if (!isObject(value)) throw new Problem('bad-request', 'The body must be a JSON object.')
  return value
}

function parse(body: Uint8Array): unknown {
  try {
    // Fatal: repairing invalid UTF-8 would store something else than was sent.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    // The parser's own message would quote the body.
    throw new Problem('bad-request', 'The body is not well-formed JSON in UTF-8.')
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
