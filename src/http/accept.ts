import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** What a client takes, by its Accept headers (RFC 9110 §12.5), as `negotiator` reads them. */

/** @returns the one of `types` that the client likes best; undefined if it takes none of them */
export function acceptedType<Type extends string>(accept: string, types: readonly Type[]): Type | undefined {
  // All that is sent is in UTF-8, so a `charset` in Accept makes no difference.
  const asked = accept.replace(/;\s*charset=("[^"]*"|[^,;]*)/gi, '')
  return new Negotiator({ headers: { accept: asked } }).mediaType([...types]) as Type | undefined
}

/** @returns those of `encodings` that the client takes, in their order */
export function acceptedEncodings<Encoding extends string>(
  { headers }: Pick<FastifyRequest, 'headers'>,
  encodings: readonly Encoding[],
): readonly Encoding[] {
  // Without the header any encoding may be sent, but a client that doesn't name one seldom unpacks it.
  if (headers['accept-encoding'] === undefined) return []
  const accepted = new Set(new Negotiator({ headers }).encodings([...encodings]))
  return encodings.filter(one => accepted.has(one))
}
