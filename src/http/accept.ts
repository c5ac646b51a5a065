import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** Content negotiation by the Accept headers (RFC 9110 §12.5), parsed by `negotiator`. */

/** @returns the type in `types` that the client prefers; undefined if it accepts none of them */
export function acceptedType<Type extends string>(accept: string, types: readonly Type[]): Type | undefined {
  // All that is sent is in UTF-8, so a `charset` in Accept makes no difference.
  const asked = accept.replace(/;\s*charset=("[^"]*"|[^,;]*)/gi, '')
  return new Negotiator({ headers: { accept: asked } }).mediaType([...types]) as Type | undefined
}

/** @returns those of `encodings` that the client accepts, in the order of `encodings` */
export function acceptedEncodings<Encoding extends string>(
  { headers }: Pick<FastifyRequest, 'headers'>,
  encodings: readonly Encoding[],
): readonly Encoding[] {
  // Without the header any encoding may be sent, but a client that doesn't name an encoding seldom decodes one.
  if (headers['accept-encoding'] === undefined) return []
  const accepted = new Set(new Negotiator({ headers }).encodings([...encodings]))
  return encodings.filter(one => accepted.has(one))
}
