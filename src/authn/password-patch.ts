import type { FastifyRequest } from 'fastify'
import { Problem } from '../http/problems.ts'

/** As bytes, like at login (L7). */
export interface PasswordChange {
  readonly currentPassword: Buffer
  readonly newPassword: Buffer
}

/** NIST SP 800-63B: length counts, and no mixture of characters is asked for. Of code points, so that any script has them. */
const fewestCharacters = 8

const operation =
  '[{"op": "add", "path": "/password", "value": {"new_password": "…", "current_password": "…"}}]'

/**
 * The JSON Patch (RFC 6902) by which DSpace's clients (7.6 to 10) change a password: one operation, and no other is
 * known here. Nothing of the body is repeated in what is thrown.
 * @throws Problem 415; 400 for what is no JSON; 422 for what is no such patch (RFC 5789 §2.2), or a password that won't do
 */
export function readPasswordPatch(request: FastifyRequest): PasswordChange {
  if (!/^application\/json(-patch\+json)?\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem(
      'unsupported-media-type',
      'The body must be application/json-patch+json, or application/json.',
    )
  const patch = parse((request.body as Buffer | undefined) ?? Buffer.alloc(0))
  const [first, ...more] = Array.isArray(patch) ? (patch as readonly unknown[]) : []
  if (!isObject(first) || more.length > 0 || first.op !== 'add' || first.path !== '/password')
    throw new Problem(
      'patch-refused',
      `The body must be one operation, ${operation}; there is no other here.`,
    )
  if (!isObject(first.value))
    throw new Problem(
      'patch-refused',
      'The value of the operation must be an object with new_password and current_password.',
    )
  const { new_password: wanted, current_password: current, ...others } = first.value
  if (Object.keys(others).length > 0)
    throw new Problem(
      'patch-refused',
      'The value of the operation has more members than new_password and current_password.',
    )
  const change = {
    currentPassword: text('current_password', current),
    newPassword: text('new_password', wanted),
  }
  if ([...change.newPassword.toString()].length < fewestCharacters)
    throw new Problem(
      'password-refused',
      `The new password must have at least ${fewestCharacters} characters.`,
    )
  return change
}

function parse(body: Uint8Array): unknown {
  try {
    // Fatal: two passwords must not become equal by being repaired.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    // What the parser says would quote the body.
    throw new Problem('bad-request', 'The body is not well-formed JSON in UTF-8.')
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function text(name: string, value: unknown): Buffer {
  if (typeof value !== 'string')
    throw new Problem('patch-refused', `${name} must be there, in the value of the operation, as a string.`)
  // Half of a pair has no UTF-8, and would be repaired.
  if (!value.isWellFormed())
    throw new Problem('patch-refused', `${name} has half of a surrogate pair, which is no character.`)
  return Buffer.from(value)
}
