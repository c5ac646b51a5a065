import type { FastifyReply, FastifyRequest } from 'fastify'
import { epersonBody } from '../dspace/epersons.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { clientOf } from '../http/client.ts'
import { patchBody } from '../http/json-body.ts'
import { Problem } from '../http/problems.ts'
import { requireAdministrator } from '../http/require-caller.ts'
import { isObject } from '../lib/json.ts'
import { readUuid } from '../lib/uuids.ts'
import { isAdministrator } from '../model/caller.ts'
import type { People } from '../storage/people.ts'
import { passwordFault } from './password-rules.ts'
import type { Passwords } from './passwords.ts'

interface Parts {
  readonly people: People
  readonly addresses: Addresses
  readonly passwords: Passwords
  readonly asksAgreement: boolean
  /** Handles every patch that is not about a password. */
  readonly patchEperson: (request: FastifyRequest) => Promise<object>
}

/**
 * @returns the answer; undefined if `change-password.ts` is to answer, where epersons change their own
 *   password
 */
export type PatchOther = (request: FastifyRequest, reply: FastifyReply) => Promise<object | undefined>

/**
 * Tells the patches of an eperson apart: epersons change their own password, administrators set the passwords
 * of others, and `patchEperson` does everything else.
 */
export function createPatchOther(parts: Parts): PatchOther {
  return async request => {
    const { caller, params } = request
    const isSelf =
      caller.kind !== 'anonymous' &&
      readUuid((params as { uuid: string }).uuid) === caller.session.eperson.uuid
    if (isSelf || !isAdministrator(caller))
      return isAboutPassword(request) ? undefined : parts.patchEperson(request)
    return isAboutPassword(request) ? setPassword(request, parts) : parts.patchEperson(request)
  }
}

/**
 * True if the body is about a password. That includes a body that can't be read: the code that changes
 * passwords says what is wrong with it.
 */
function isAboutPassword(request: FastifyRequest): boolean {
  try {
    const parsed: unknown = JSON.parse(String(request.body ?? ''))
    return (
      !Array.isArray(parsed) ||
      parsed.length === 0 ||
      parsed.some(one => !isObject(one) || typeof one.path !== 'string' || /^\/password(\/|$)/.test(one.path))
    )
  } catch {
    return true
  }
}

/**
 * Sets the password of another eperson for an administrator, as an operator does with `carrel eperson
 * password`: it ends every session of that eperson (T6).
 */
async function setPassword(request: FastifyRequest, parts: Parts): Promise<object> {
  const { people, addresses, passwords, asksAgreement } = parts
  const caller = requireAdministrator(request.caller, 'set the password of somebody else')
  const [operation, ...more] = patchBody(request)
  if (
    !operation ||
    more.length > 0 ||
    operation.path.length !== 1 ||
    !['add', 'replace'].includes(operation.op)
  )
    throw new Problem('patch-refused', 'A password is changed by a patch of one operation: add /password.')
  const password = passwordIn(operation.value)
  const uuid = readUuid((request.params as { uuid: string }).uuid)
  const eperson = uuid === undefined ? undefined : await people.eperson(uuid)
  if (!eperson) throw new Problem('not-found', 'There is no eperson with this UUID.')
  const fault = await passwordFault(password, eperson.email)
  if (fault !== undefined) throw new Problem('password-refused', `The new password ${fault}.`)
  const hash = await passwords.hash(password, clientOf(request))
  const event = eventOf(caller, request, { event: 'eperson.password', outcome: 'success' })
  if ((await people.setPassword({ uuid: eperson.uuid }, hash, event)) === 'no-eperson')
    throw new Problem('not-found', 'There is no eperson with this UUID any more.')
  return epersonBody(eperson, addresses, asksAgreement)
}

/**
 * Reads the new password. DSpace's clients since 7.3 send an object, older ones a text. The current password
 * isn't asked for, because the administrator doesn't know it.
 */
function passwordIn(value: unknown): Buffer {
  const text = isObject(value) ? value.new_password : value
  if (typeof text !== 'string' || !text.isWellFormed())
    throw new Problem('patch-refused', 'The value of the operation must have new_password, a string.')
  return Buffer.from(text)
}
