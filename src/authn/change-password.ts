import type { FastifyInstance, FastifyRequest } from 'fastify'
import { epersonBody } from '../dspace/epersons.ts'
import type { Addresses } from '../http/addresses.ts'
import type { Csrf } from '../http/csrf.ts'
import { Problem, type ProblemCode } from '../http/problems.ts'
import { requireEperson } from '../http/require-eperson.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Accounts } from '../storage/accounts.ts'
import { eventOf } from './audit.ts'
import { refuseShortLivedToken } from './authenticate.ts'
import { readPasswordPatch } from './password-patch.ts'
import type { Passwords } from './passwords.ts'

interface Parts {
  readonly accounts: Accounts
  readonly addresses: Addresses
  readonly csrf: Csrf
  readonly passwords: Passwords
  /** Whether there is a login by password. */
  readonly password: boolean
}

/**
 * `PATCH /api/eperson/epersons/{uuid}`: an eperson changes its own password. Whoever has got hold of a token, even an
 * administrator's, can't take over an account with it: the current password is asked for, in the same queue as at login
 * and at the same cost, and nobody changes the password of somebody else.
 */
export function changePasswordRoutes(
  app: FastifyInstance,
  { accounts, addresses, csrf, passwords, password }: Parts,
): void {
  app.patch<{ Params: { uuid: string } }>(
    '/eperson/epersons/:uuid',
    { preParsing: [refuseShortLivedToken, refuseStrangers] },
    async (request, reply) => {
      const caller = requireEperson(request.caller)
      const { uuid, email } = caller.session.eperson
      const event = (outcome: AuditEvent['outcome'], eperson: string | null = uuid) => ({
        ...eventOf(caller, request, { event: 'eperson.password', outcome }),
        eperson,
      })
      const refuse = async (code: ProblemCode, why: string, eperson?: string | null) => {
        await accounts.recordEvent(event('failure', eperson))
        return new Problem(code, why)
      }

      if (caller.kind === 'acting')
        throw await refuse('on-behalf-of-refused', 'Nobody’s password is changed on behalf of them.')
      const wanted = request.params.uuid.toLowerCase()
      // The same answer whether there is such an eperson or not.
      if (wanted !== uuid)
        throw await refuse(
          'access-denied',
          'An eperson changes its own password only; the operator sets others, with «carrel eperson password».',
          (await accounts.eperson(wanted))?.uuid ?? null,
        )
      const known = password ? await accounts.credentials(email) : undefined
      if (known?.uuid !== uuid || known.passwordHash === null)
        throw await refuse('access-denied', 'There is no login by password for this eperson.')

      const { currentPassword, newPassword } = readPasswordPatch(request)
      if (!(await passwords.verify(currentPassword, known.passwordHash)))
        throw await refuse('wrong-password', 'The current password is wrong.')
      const hash = await passwords.hash(newPassword)
      // Only while what was checked still counts: an operator who has just set another one would be overruled.
      if ((await accounts.setPassword(email, hash, event('success'), known)) !== 'changed')
        throw await refuse('wrong-password', 'The current password was changed at the same moment.')
      csrf.issue(request, reply)
      return epersonBody(caller.session.eperson, addresses)
    },
  )
}

/** Before the body is read: what a stranger sends is not looked at. */
async function refuseStrangers({ caller }: FastifyRequest): Promise<void> {
  requireEperson(caller)
}
