import { lowerPriority, serveThread } from '../lib/threads/thread.ts'
import { Refused } from './protocol.ts'
import type { Bounds } from './saml-bounds.ts'
import { type ReadAssertion, readAssertion, signedMessage, understood } from './saml-library.ts'
import { type LogoutMessage, type OpenedLogout, openLogout } from './saml-logout.ts'
import { type Keys, openResponse } from './saml-signed.ts'
import { type MessageHead, readHead } from './saml-xml.ts'

/**
 * The service's thread for SAML messages: it parses, verifies, decrypts and signs them (docs/decisions/0031).
 */

/**
 * A result or a refusal as data: an error loses its class between threads, and a refusal is no fault of the
 * thread.
 */
export type Outcome<T> = { readonly result: T } | { readonly refused: string }

export interface SamlThreadHandlers {
  readonly head: (xml: string, its: Bounds) => Promise<Outcome<MessageHead>>
  /** @param xml whose head was read */
  readonly openResponse: (xml: string, keys: Keys, audience: string) => Promise<Outcome<ReadAssertion>>
  /** @param message whose head was read */
  readonly openLogout: (message: LogoutMessage, keys: Keys) => Promise<Outcome<OpenedLogout>>
  readonly sign: (xml: string, privateKey: string) => string
  readonly [name: string]: (...args: never[]) => unknown
}

async function outcomeOf<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { result: await understood(work()) }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { refused: error.message }
  }
}

const handlers: SamlThreadHandlers = {
  head: (xml, its) => outcomeOf(async () => readHead(xml, its)),
  openResponse: (xml, keys, audience) =>
    outcomeOf(async () => readAssertion(await openResponse(xml, keys), keys.certificates, audience)),
  openLogout: (message, keys) => outcomeOf(() => openLogout(message, keys)),
  sign: signedMessage,
}

// Below the event loops, and above long listings: users are waiting for their login.
lowerPriority(5)
serveThread(() => ({ handlers, close: () => {} }))
