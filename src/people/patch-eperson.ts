import type { FastifyInstance, FastifyRequest } from 'fastify'
import { passwordFault } from '../authn/password-rules.ts'
import { guessOf, type Passwords, provePassword } from '../authn/passwords.ts'
import { ownSession } from '../authn/session-routes.ts'
import type { Throttle } from '../authn/throttle.ts'
import { changes, openRightTo, patchOf } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import type { Csrf } from '../http/csrf.ts'
import { jsonBody, patchTypes } from '../http/json-body.ts'
import { type Op, type Operation, patchBody, patchRefused, readOperation } from '../http/json-patch.ts'
import { Problem, type ProblemCode } from '../http/problems.ts'
import { type LoggedIn, requireCaller } from '../http/require-caller.ts'
import { epersonBody } from '../http/resources/people.ts'
import { isObject } from '../lib/json.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Eperson } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { isAdministrator } from '../model/caller.ts'
import type { EpersonChange } from '../model/people.ts'
import type { Trail } from '../storage/trail.ts'
import { known, lastAdministrator, noEperson } from './change-epersons.ts'
import { emailOf, epersonFields, flag, passwordIn, refuseCertificate, refuseNetId } from './eperson-input.ts'
import { hasMailToken, mailEvent, mailToken, type Registrations } from './registrations.ts'
import { metadataChange, type Values } from './single-metadata.ts'
import type { People } from './statements.ts'

const route = contractsIn(() => import('./contracts.ts'))

const right = openRightTo('change the eperson: their own, any for administrators, or by the token of a mail')

interface Parts {
  readonly people: People
  readonly trail: Trail
  readonly addresses: Addresses
  readonly csrf: Csrf
  readonly passwords: Passwords
  readonly throttle: Throttle
  /** True if epersons can log in by password. */
  readonly password: boolean
  readonly asksAgreement: boolean
  /** Undefined if the service sends no mail. */
  readonly registrations: Registrations | undefined
}

/**
 * `PATCH /api/eperson/epersons/{uuid}`, decided from top to bottom: the owner of an email address sets a
 * forgotten password with the token of a mail; epersons change their own profile and, with the current one,
 * their password (E1, E2); administrators change everything of anyone (M2).
 */
export function patchEpersonRoute(app: FastifyInstance, parts: Parts): void {
  const { addresses, csrf, asksAgreement, registrations } = parts
  const bodyOf = (eperson: Eperson) => epersonBody(eperson, addresses, asksAgreement)

  routesOf(app).patch(
    '/eperson/epersons/:uuid',
    {
      ...route('changeEperson', changes(right, 'none', patchOf())),
      // The body of an anonymous request is never parsed.
      preParsing: async request => {
        if (!registrations || !hasMailToken(request)) requireCaller(request.caller)
      },
    },
    async (request, reply) => {
      const token = registrations && mailToken(request)
      const uuid = readUuid(request.params.uuid)
      if (registrations && token !== undefined)
        return bodyOf(await setForgottenPassword(request, uuid, { registrations, token }))
      const caller = requireCaller(request.caller)
      const isSelf = uuid === caller.session.eperson.uuid
      const mayAll = isAdministrator(caller)
      if (!isAboutPassword(request)) {
        if (!isSelf && !mayAll)
          throw new Problem(
            'access-denied',
            'Epersons may change only their own profile. Administrators may change any.',
          )
        return bodyOf(await change(request, caller, uuid, parts))
      }
      if (mayAll && !isSelf) return bodyOf(await setPasswordOfOther(request, caller, uuid, parts))
      await changeOwnPassword(request, caller, uuid, parts)
      csrf.issue(request, reply)
      return bodyOf(caller.session.eperson)
    },
  )
}

/** True if the body is about a password, or can't be read: changing one says what is wrong with it. */
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

/** Sets the password of the owner of an email address, who has the token of a mail (docs/decisions/0045). */
function setForgottenPassword(
  request: FastifyRequest,
  uuid: string | undefined,
  { registrations, token }: { readonly registrations: Registrations; readonly token: string },
): Promise<Eperson> {
  const why = 'With a token of a mail, the patch is one operation: add /password.'
  const value = passwordOperation(request, ['add'], why)
  const password = passwordIn('new_password', isObject(value) ? value.new_password : value, 'The body')
  const event = mailEvent(request, 'eperson.password')
  return registrations.setPassword(token, uuid ?? '', password, clientOf(request), event)
}

/**
 * Sets the password of another eperson for an administrator, as an operator does with `carrel eperson
 * password`: it ends every session of that eperson (T6). The administrator doesn't know the current one.
 */
async function setPasswordOfOther(
  request: FastifyRequest,
  caller: LoggedIn,
  uuid: string | undefined,
  { people, passwords }: Parts,
): Promise<Eperson> {
  const why = 'A password is changed by a patch of one operation: add /password.'
  const value = passwordOperation(request, ['add', 'replace'], why)
  // DSpace's clients since 7.3 send an object, older ones a text.
  const password = passwordIn('new_password', isObject(value) ? value.new_password : value)
  const eperson = uuid === undefined ? undefined : await people.eperson(uuid)
  if (!eperson) throw noEperson()
  const fault = await passwordFault(password, eperson.email)
  if (fault !== undefined) throw new Problem('password-refused', `The new password ${fault}.`)
  const hash = await passwords.hash(password, clientOf(request))
  const event = eventOf(caller, request, { event: 'eperson.password', outcome: 'success' })
  if ((await people.setPassword({ uuid: eperson.uuid }, hash, event)) === 'no-eperson')
    throw new Problem('not-found', 'There is no eperson with this UUID any more.')
  return eperson
}

/** Reads the value of a patch that is one operation on the password. @throws Problem 422 that says `why` */
function passwordOperation(request: FastifyRequest, takes: readonly Op[], why: string): unknown {
  const [operation, ...more] = patchBody(request)
  if (!operation || more.length > 0 || operation.pointer !== '/password' || !takes.includes(operation.op))
    throw patchRefused(null, why)
  return operation.value
}

/**
 * Changes the caller's own password. A stolen token, even an administrator's, is not enough to take over an
 * account: the current password is required, and verified in the same queue, at the same cost and with the
 * same throttle as at login.
 */
async function changeOwnPassword(
  request: FastifyRequest,
  caller: LoggedIn,
  wanted: string | undefined,
  parts: Parts,
): Promise<void> {
  const { people, trail, passwords, password } = parts
  const { uuid, email } = caller.session.eperson
  const event = (outcome: AuditEvent['outcome'], told: Partial<AuditEvent> = {}) => ({
    ...eventOf(caller, request, { event: 'eperson.password', outcome }),
    eperson: uuid,
    ...told,
  })
  const refuse = async (code: ProblemCode, why: string, told?: Partial<AuditEvent>) => {
    await trail.record(event('failure', told))
    return new Problem(code, why)
  }

  if (caller.kind === 'acting')
    throw await refuse('on-behalf-of-refused', 'A password can’t be changed on behalf of another user.')
  // The response is the same whether or not this eperson exists.
  if (wanted !== uuid)
    throw await refuse(
      'access-denied',
      'Epersons may change only their own password. An operator can set any with `carrel eperson password`.',
      { eperson: (wanted === undefined ? undefined : await people.eperson(wanted))?.uuid ?? null },
    )
  const stored = password ? await people.credentials(email) : undefined
  if (stored?.uuid !== uuid || stored.passwordHash === null)
    throw await refuse('access-denied', 'This eperson has no password, or can’t log in with one.')

  const { currentPassword, newPassword } = ownPasswords(request)
  const fault = await passwordFault(newPassword, email)
  if (fault !== undefined) throw new Problem('password-refused', `The new password ${fault}.`)
  await provePassword(parts, guessOf(request, email, uuid), currentPassword, stored.passwordHash, {
    wrong: async reason => {
      throw await refuse('wrong-password', 'The current password is wrong.', { reason })
    },
    right: async ({ client }) => {
      const hash = await passwords.hash(newPassword, client)
      // The password changes only if it is still the one that was verified: an operator may have set another
      // one meanwhile.
      const checked = { ...stored, own: ownSession(caller) }
      if ((await people.setPassword({ email }, hash, event('success'), checked)) !== 'changed')
        throw await refuse('wrong-password', 'Another request changed the password at the same time.')
    },
  })
}

const ownOperation =
  '[{"op": "add", "path": "/password", "value": {"new_password": "…", "current_password": "…"}}]'

/**
 * Reads the patch with which DSpace's clients (7.6 to 10) change a password. It has exactly one operation.
 * Errors quote nothing of the body.
 * @throws Problem 415; 400 for malformed JSON; 422 for any other patch (RFC 5789 §2.2)
 */
function ownPasswords(request: FastifyRequest) {
  const patch = jsonBody(request, patchTypes)
  const refuse = () => patchRefused(null, `The body must be exactly one operation: ${ownOperation}.`)
  if (!Array.isArray(patch) || patch.length !== 1) throw refuse()
  const { op, pointer, value } = readOperation(patch[0], 0, refuse)
  if (op !== 'add' || pointer !== '/password') throw refuse()
  if (!isObject(value))
    throw patchRefused(
      null,
      'The value of the operation must be an object with new_password and current_password.',
    )
  const { new_password: wanted, current_password: current, ...others } = value
  if (Object.keys(others).length > 0)
    throw patchRefused(
      null,
      'The value of the operation must have no members other than new_password and current_password.',
    )
  return {
    currentPassword: passwordIn('current_password', current),
    newPassword: passwordIn('new_password', wanted),
  }
}

/** Changes everything but a password. */
async function change(
  request: FastifyRequest,
  caller: LoggedIn,
  uuid: string | undefined,
  { people }: Parts,
): Promise<Eperson> {
  const wanted = epersonChange(patchBody(request), isAdministrator(caller))
  const event = eventOf(caller, request, { event: 'eperson.change', outcome: 'success' })
  const changed = uuid === undefined ? 'no-eperson' : await people.changeEperson(uuid, wanted, event)
  if (changed === 'no-eperson') throw noEperson()
  if (changed === 'exists') throw known()
  if (changed === 'last-administrator') throw lastAdministrator()
  return changed
}

/**
 * Reads the changes that a JSON Patch makes to an eperson.
 * @param mayAll true for an administrator; otherwise only parts that epersons may change of themselves are accepted
 * @throws Problem 403 or 422
 */
function epersonChange(operations: readonly Operation[], mayAll: boolean): EpersonChange {
  if (operations.length === 0) throw patchRefused(null, 'The patch has no operations.')
  return operations.map(operation => changeOf(operation, mayAll)).reduce(merge)
}

const merge = (one: EpersonChange, next: EpersonChange): EpersonChange => ({
  ...one,
  ...next,
  ...(one.profile || next.profile ? { profile: { ...one.profile, ...next.profile } } : {}),
})

function changeOf(operation: Operation, mayAll: boolean): EpersonChange {
  const { index, op, path, value } = operation
  const fault = (why: string) => patchRefused(index, why)
  if (path[0] === 'metadata') return changeOfValues(metadataChange(operation, epersonFields))
  const name = path.length === 1 ? path[0] : undefined
  if (name === undefined || !['email', 'canLogIn', 'certificate', 'netid'].includes(name))
    throw fault('an eperson has /email, /canLogIn, /certificate, /netid, /password and /metadata/….')
  if (!mayAll) throw new Problem('access-denied', `Only administrators may change the ${name} of an eperson.`)
  if (op !== 'replace' && op !== 'add') throw fault(`/${name} takes replace, with a value.`)
  if (name === 'email') return { email: emailOf(value, fault) }
  if (name === 'canLogIn') return { enabled: flag(value, fault) }
  if (name === 'certificate') refuseCertificate(value, fault)
  else refuseNetId(value, fault)
  return {}
}

function changeOfValues(values: Values): EpersonChange {
  const { 'eperson.firstname': firstName, 'eperson.lastname': lastName, ...profile } = values
  return {
    ...(firstName === undefined ? {} : { firstName }),
    ...(lastName === undefined ? {} : { lastName }),
    ...(Object.keys(profile).length === 0 ? {} : { profile }),
  }
}
