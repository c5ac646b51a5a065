import type { FastifyInstance, FastifyRequest } from 'fastify'
import { epersonBody } from '../dspace/epersons.ts'
import { changes, openRightTo, patchOf } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { clientOf } from '../http/client.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import type { Csrf } from '../http/csrf.ts'
import { jsonBody, patchTypes } from '../http/json-body.ts'
import { hasMailToken } from '../http/mail-token.ts'
import { Problem, type ProblemCode } from '../http/problems.ts'
import { requireCaller } from '../http/require-caller.ts'
import { clientAddress } from '../lib/addresses.ts'
import { isObject } from '../lib/json.ts'
import { passwordMethod } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { People } from '../storage/people.ts'
import type { Trail } from '../storage/trail.ts'
import type { PasswordByMail } from './by-mail.ts'
import { passwordFault } from './password-rules.ts'
import type { Passwords } from './passwords.ts'
import { ownSession } from './session-routes.ts'
import type { PatchOther } from './set-password.ts'
import type { Throttle } from './throttle.ts'

const route = contractsIn(() => import('./contracts.ts'))

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
  readonly patchOther: PatchOther
  /** Sets a password by the token from a mail; undefined if the service sends no mail. */
  readonly byMail: PasswordByMail | undefined
}

/**
 * `PATCH /api/eperson/epersons/{uuid}`: epersons change their own password. `set-password.ts` does the rest.
 * A stolen token, even an administrator's, is not enough to take over an account: the current password is
 * required, and verified in the same queue, at the same cost and with the same throttle as at login.
 */
export function changePasswordRoutes(
  app: FastifyInstance,
  { people, trail, addresses, csrf, passwords, throttle, password, asksAgreement, patchOther, byMail }: Parts,
): void {
  routesOf(app).patch<{ Params: { uuid: string } }>(
    '/eperson/epersons/:uuid',
    {
      ...route(
        'changeEperson',
        changes(
          openRightTo(
            'change the eperson: their own account, any for administrators, or a password with the token of a mail',
          ),
          'none',
          patchOf(),
        ),
      ),
      // The body of an anonymous request is never parsed.
      preParsing: async request => {
        if (!byMail || !hasMailToken(request)) requireCaller(request.caller)
      },
    },
    async (request, reply) => {
      const owner = await byMail?.setPassword(request)
      if (owner) return epersonBody(owner, addresses, asksAgreement)
      const other = await patchOther(request, reply)
      if (other) return other
      const caller = requireCaller(request.caller)
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
        throw await refuse('on-behalf-of-refused', 'A password can’t be changed on behalf of somebody.')
      const wanted = request.params.uuid.toLowerCase()
      // The response is the same whether or not this eperson exists.
      if (wanted !== uuid)
        throw await refuse(
          'access-denied',
          'Epersons may change only their own password. An operator can set any with `carrel eperson password`.',
          { eperson: (await people.eperson(wanted))?.uuid ?? null },
        )
      const known = password ? await people.credentials(email) : undefined
      if (known?.uuid !== uuid || known.passwordHash === null)
        throw await refuse('access-denied', 'This eperson has no password, or can’t log in with one.')

      const { currentPassword, newPassword } = readPasswordPatch(request)
      const fault = await passwordFault(newPassword, email)
      if (fault !== undefined) throw new Problem('password-refused', `The new password ${fault}.`)
      await using turn = await throttle.turn(
        {
          user: email,
          eperson: uuid,
          method: passwordMethod,
          address: clientAddress(request.ip),
          client: clientOf(request),
        },
        passwords.queue,
      )
      if (!(await passwords.verify(currentPassword, known.passwordHash, turn))) {
        const reason = await turn.wrong()
        throw await refuse('wrong-password', 'The current password is wrong.', { reason })
      }
      await turn.takeBack()
      const hash = await passwords.hash(newPassword, turn.client)
      // The password changes only if it is still the one that was verified: an operator may have set another
      // one meanwhile.
      if (
        (await people.setPassword({ email }, hash, event('success'), {
          ...known,
          own: ownSession(caller),
        })) !== 'changed'
      )
        throw await refuse('wrong-password', 'The password was changed by somebody else at the same time.')
      csrf.issue(request, reply)
      return epersonBody(caller.session.eperson, addresses, asksAgreement)
    },
  )
}

/** Passwords as bytes: like a login, a change compares them byte by byte (L7). */
interface PasswordChange {
  readonly currentPassword: Buffer
  readonly newPassword: Buffer
}

const operation =
  '[{"op": "add", "path": "/password", "value": {"new_password": "…", "current_password": "…"}}]'

/**
 * Reads the JSON Patch (RFC 6902) with which DSpace's clients (7.6 to 10) change a password. It has exactly
 * one operation, and no other is supported. Errors quote nothing of the body.
 * @throws Problem 415; 400 for malformed JSON; 422 for any other patch (RFC 5789 §2.2)
 */
function readPasswordPatch(request: FastifyRequest): PasswordChange {
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
