import type { FastifyRequest } from 'fastify'
import { type Operation, type PatchBounds, PatchFault, readPatch } from '../lib/json-patch.ts'
import { Problem } from './problems.ts'

/**
 * The operations of a request's JSON Patch. DSpace's clients send it as `application/json`, too.
 * @throws Problem 415 for another media type, 400 for malformed JSON, 422 for a wrong operation (RFC 5789 §2.2)
 */
export function patchBody(request: FastifyRequest, bounds?: PatchBounds): readonly Operation[] {
  if (!/^application\/json(-patch\+json)?\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem(
      'unsupported-media-type',
      'The body must be application/json-patch+json or application/json.',
    )
  try {
    return readPatch((request.body as Buffer | undefined) ?? Buffer.alloc(0), bounds)
  } catch (error) {
    if (!(error instanceof PatchFault)) throw error
    throw new Problem(error.kind === 'syntax' ? 'bad-request' : 'patch-refused', error.message)
  }
}
