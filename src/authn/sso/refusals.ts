import type { FastifyBaseLogger } from 'fastify'
import type { ProviderConfig } from '../../config/providers.ts'
import { Problem } from '../../http/problems.ts'
import type { Refusal } from '../../model/identities.ts'
import { Refused, Unavailable } from './protocol.ts'

/** Why there is no eperson, for the log and for `carrel sso explain`. */
export const refusals: Readonly<Record<Refusal, string>> = {
  unknown: 'no eperson has this subject or e-mail address, and create is off',
  disabled: 'the eperson is disabled',
  'email-taken': 'an eperson has this e-mail address, and email.match is off',
  'other-subject': 'the eperson with this e-mail address has another subject at this provider',
  'no-email': 'an eperson can not be created without an e-mail address that may be relied on',
}

type Log = Pick<FastifyBaseLogger, 'warn'>

/** Says which provider and why, never whom or what. */
export const noteRefusal = (log: Log, provider: string, why: string): void =>
  log.warn({ provider, why }, 'single sign-on refused')

/** Where somebody who was refused may go. */
export type WaysOn = Readonly<{
  /** Where a login begins again. */
  begin: string
  /** The page that the login began at. */
  back: string
}>

/** What the person at the browser is told: little, whatever the reason, which is for the log. */
export function refusalOf(error: unknown, { id, name }: ProviderConfig, members: WaysOn, log: Log): unknown {
  if (error instanceof Refused) {
    noteRefusal(log, id, error.message)
    return new Problem('sign-on-refused', `${name} did not log you in, or its answer can not be accepted.`, {
      members,
    })
  }
  if (error instanceof Unavailable) {
    noteRefusal(log, id, error.message)
    return new Problem('provider-unavailable', `${name} does not answer as it should; try again later.`, {
      members,
    })
  }
  return error
}

/** What a provider says is here; whose login it belongs to is in this browser's cookie, or nowhere. */
export const notBegun = (members: WaysOn): Problem =>
  new Problem(
    'sign-on-not-begun',
    'This browser has no login under way that the answer belongs to: it took too long, was finished already, or began elsewhere.',
    { members },
  )

/** A logout that a provider asks for. */
export function logoutRefusalOf(error: unknown, provider: string, log: Log): unknown {
  if (!(error instanceof Refused) && !(error instanceof Unavailable)) return error
  noteRefusal(log, provider, `logout: ${error.message}`)
  return error instanceof Refused
    ? new Problem(
        'logout-not-understood',
        'The logout message is not one that can be accepted; nobody was logged out.',
      )
    : new Problem(
        'provider-unavailable',
        'The identity provider does not answer as it should, so its message can not be checked.',
      )
}
