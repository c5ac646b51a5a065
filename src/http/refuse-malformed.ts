import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Query } from './parameters.ts'
import { Problem } from './problems.ts'

/** @throws Problem for what Node and the framework accept although it is wrong at any address */
export function refuseMalformed({ raw, query }: FastifyRequest): void {
  if (raw.headers.expect !== undefined && raw.headers.expect.toLowerCase() !== '100-continue')
    throw new Problem(
      'expectation-failed',
      'The only value of the header Expect that this service takes is 100-continue.',
    )
  // RFC 9112 §3.2: a fragment is never sent, and routers would end the path there.
  if (raw.url?.includes('#')) throw new Problem('bad-request', 'The address must not have a fragment (#).')
  // A request that no route takes has no parsed query, and nothing reads it.
  const malformed = (query as Partial<Query> | undefined)?.malformed
  if (malformed) throw new Problem('bad-request', malformed)
}

/**
 * Counts a header in the raw list: of some headers, Node's parsed ones keep only the first. @param name in lower case
 */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string
    if (given.length === name.length && given.toLowerCase() === name) count++
  }
  return count
}
