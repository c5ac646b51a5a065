import type { FastifyRequest } from 'fastify'
import { jsonBody, patchTypes } from '../http/json-body.ts'
import { Problem } from '../http/problems.ts'
import { isObject } from '../lib/json.ts'

/** As bytes, as at login (L7). */
export interface PasswordChange {
  readonly currentPassword: Buffer
  readonly newPassword: Buffer
}

const operation =
  '[{"op": "add", "path": "/password", "value": {"new_password": "…", "current_password": "…"}}]'

/**
 * The JSON Patch (RFC 6902) with which DSpace's clients (7.6 to 10) change a password. It has exactly one operation, and no
 * other is supported. Errors repeat nothing of the body.
 * @throws Problem 415; 400 for malformed JSON; 422 for any other patch (RFC 5789 §2.2)
 */
export function readPasswordPatch(request: FastifyRequest): PasswordChange {
  const patch = jsonBody(request, patchTypes)
  const [first, ...more] = Array.isArray(patch) ? (patch as readonly unknown[]) : []
  if (!isObject(first) || more.length > 0 || first.op !== 'add' || first.path !== '/password')
    throw new Problem('patch-refused', `The body must be exactly one operation: ${operation}.`)
  if (!isObject(first.value))
    throw new Problem(
      'patch-refused',
      'The value of the operation must be an object with new_password and current_password.',
    )
  const { new_password: wanted, current_password: current, ...others } = first.value
  if (Object.keys(others).length > 0)
    throw new Problem(
      'patch-refused',
      'The value of the operation must have no members other than new_password and current_password.',
    )
  return { currentPassword: text('current_password', current), newPassword: text('new_password', wanted) }
}

function text(name: string, value: unknown): Buffer {
  if (typeof value !== 'string')
    throw new Problem('patch-refused', `The value of the operation must have ${name}, a string.`)
  // An unpaired surrogate can't be encoded in UTF-8; it would be replaced.
  if (!value.isWellFormed())
    throw new Problem('patch-refused', `${name} has an unpaired surrogate, which is not a character.`)
  return Buffer.from(value)
}
