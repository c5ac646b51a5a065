import type { FastifyRequest } from 'fastify'
import { Problem } from './problems.ts'

export const isForm = (request: FastifyRequest): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')

/** Reads the body of a request that must be a form. @throws Problem 415 for another type, 400 for a malformed form */
export function readForm(request: FastifyRequest): ReadonlyMap<string, Buffer> {
  if (!isForm(request))
    throw new Problem('unsupported-media-type', 'The body must be application/x-www-form-urlencoded.')
  return parseForm((request.body as Buffer | undefined) ?? Buffer.alloc(0))
}

/**
 * Parses `application/x-www-form-urlencoded` (https://url.spec.whatwg.org/#urlencoded-parsing) byte for byte: values
 * stay bytes, because a password need not be UTF-8, and decoding could make two different passwords equal (L7).
 * @throws Problem 400 for bad percent-encoding, or a field that is given twice
 */
export function parseForm(body: Uint8Array): ReadonlyMap<string, Buffer> {
  const fields = new Map<string, Buffer>()
  for (const pair of Buffer.from(body).toString('latin1').split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decode(at < 0 ? pair : pair.slice(0, at)).toString()
    if (fields.has(name)) throw new Problem('bad-request', 'The form has a field twice.')
    fields.set(name, decode(at < 0 ? '' : pair.slice(at + 1)))
  }
  return fields
}

function decode(text: string): Buffer {
  if (/%(?![0-9A-Fa-f]{2})/.test(text))
    throw new Problem(
      'bad-request',
      'The form has bad percent-encoding: % must be followed by two hexadecimal digits.',
    )
  const unescaped = text
    .replaceAll('+', ' ')
    .replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(unescaped, 'latin1')
}
