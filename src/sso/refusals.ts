import type { FastifyBaseLogger } from 'fastify'
import type { ProviderConfig } from '../config/providers.ts'
import { writerOf } from '../http/log.ts'
import { Problem } from '../http/problems.ts'
import { countRepeats, type Repeats } from '../lib/repeats.ts'
import type { Refusal } from '../model/identities.ts'
import { Refused, Unavailable } from './protocol.ts'

/** The reasons for having no eperson, for the log and for `carrel sso explain`. */
export const refusals: Readonly<Record<Refusal, string>> = {
  unknown: 'no eperson has this subject or e-mail address, and create is off',
  disabled: 'the eperson is disabled',
  'email-taken': 'an eperson has this e-mail address, and email.match is off',
  'other-subject': 'the eperson with this e-mail address has another subject at this provider',
  'own-password': 'the eperson with this e-mail address has a password of their own',
  'no-email': 'creating an eperson requires an e-mail address',
}

type Log = Pick<FastifyBaseLogger, 'warn'>

/**
 * Logs a refusal with the provider and the reason, never with a person or a value.
 * @param came the names of the attributes or claims that came
 */
export function noteRefusal(log: Log, provider: string, why: string, came?: readonly string[]): void {
  const entry = {
    provider,
    why,
    ...(came && { came: came.slice(0, maxNames).map(name => name.slice(0, 100)) }),
  }
  noteOnce(log, 'single sign-on refused', entry)
}

/**
 * Logs the first of identical lines at once, and the number of the others within six minutes: anyone can have
 * any number of messages refused.
 */
export function noteOnce(log: Log, text: string, entry: object, key: object = entry): void {
  const repeats = repeatsIn.get(writerOf(log)) ?? countRepeats()
  repeatsIn.set(writerOf(log), repeats)
  void repeats.add(JSON.stringify([text, key]), {
    first: async () => log.warn(entry, text),
    // They are of other requests than the first one.
    others: async count => log.warn({ ...entry, count, request: undefined }, `${text}, again`),
  })
}

/** Writes the counts of repeated lines. */
export const noteRepeats = async (log: Log): Promise<void> => repeatsIn.get(writerOf(log))?.close()

/** Repeats by log: a request's log writes with the same function as the service's. */
const repeatsIn = new WeakMap<Log['warn'], Repeats>()

/** Maximum number of logged names; a provider may send thousands. */
const maxNames = 50

/** Addresses for a user after a refusal. */
export type WaysOn = Readonly<{
  /** The start of a new login. */
  begin: string
  /** The page on which the login began. */
  back: string
}>

/**
 * Turns a failed login into a problem. It tells the user little, whatever the reason; the reason goes to the
 * log.
 */
export function refusalOf(error: unknown, { id, name }: ProviderConfig, members: WaysOn, log: Log): unknown {
  if (error instanceof Refused) {
    noteRefusal(log, id, error.message)
    return new Problem('sign-on-refused', `${name} did not log you in, or its response was not accepted.`, {
      members,
    })
  }
  if (error instanceof Unavailable) {
    noteRefusal(log, id, error.message)
    return new Problem('provider-unavailable', `${name} is not responding correctly. Try again later.`, {
      members,
    })
  }
  return error
}

/** A provider's response came, but this browser has no cookie of the login that it belongs to. */
export const notBegun = (members: WaysOn): Problem =>
  new Problem(
    'sign-on-not-begun',
    'This browser has no pending login for this response: the login took too long, is already complete, or began in another browser.',
    { members },
  )

/**
 * Turns a provider's logout that failed into a problem, if no answer can be sent to the provider.
 * @param home an address for the browser; undefined if the message came without one
 */
export function logoutRefusalOf(error: unknown, provider: string, log: Log, home?: string): unknown {
  if (!(error instanceof Refused) && !(error instanceof Unavailable)) return error
  noteRefusal(log, provider, `logout: ${error.message}`)
  return error instanceof Refused
    ? logoutNotUnderstood(home)
    : new Problem(
        'provider-unavailable',
        'The identity provider is not responding correctly, so its message cannot be checked.',
      )
}

/** @param home an address for the browser; undefined if the message came without one */
export const logoutNotUnderstood = (home: string | undefined): Problem =>
  home === undefined
    ? new Problem('logout-not-understood', 'The logout message was not accepted. Nobody was logged out.')
    : new Problem(
        'logout-not-understood',
        'Your identity provider asked to log you out, but its message was not accepted. You are still logged in here. Open this service and log out there. Other services may still be logged in, too: close the browser if others can use it.',
        { members: { home } },
      )
