import type { FastifyRequest } from 'fastify'
import { precondition } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'

/**
 * If-Match and If-None-Match of a request that changes something (RFC 9110 §13.1).
 * @param tag of what is there; undefined: nothing
 * @throws Problem 412
 */
export function requireState({ headers }: FastifyRequest, tag: string | undefined): void {
  if (tag === undefined) {
    if (headers['if-match'] !== undefined)
      throw new Problem('precondition-failed', 'There is nothing at this address that If-Match could match.')
    return
  }
  switch (precondition(headers, tag)) {
    case 412:
      throw stale()
    case 304:
      throw new Problem('precondition-failed', 'If-None-Match asks for nothing here, and there is something.')
    default:
  }
}

export const stale = (): Problem =>
  new Problem(
    'precondition-failed',
    'It has changed since you got the ETag in If-Match. Get it again, and apply your change to that.',
  )
