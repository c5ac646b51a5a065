import type { SamlServiceProvider } from '../config/providers.ts'
import type { IdpMetadata } from './metadata/idp.ts'
import type { LogoutMessage } from './saml-logout.ts'
import { type LogoutStatus, logoutResponseXml, redirectWith } from './saml-logout-response.ts'

/** The answer to a provider's logout request, which the browser delivers. */
export type LogoutAnswer =
  | { readonly kind: 'redirect'; readonly url: string }
  | { readonly kind: 'form'; readonly action: string; readonly fields: Readonly<Record<string, string>> }

/** The parts of a logout request that an answer needs. */
export interface Answerable {
  readonly id: string
  /** True if the provider has signed it. */
  readonly isSigned: boolean
  readonly message: Pick<LogoutMessage, 'binding' | 'relayState'>
}

interface Parts {
  readonly request: Answerable
  readonly status: LogoutStatus
  readonly idp: IdpMetadata
  readonly self: SamlServiceProvider
  readonly sign: (xml: string, privateKey: string) => Promise<string>
}

/** The form of an ID (XML Schema §3.3.8), limited to characters that are the same in every encoding. */
const idPattern = /^[A-Za-z_][\w.-]{0,255}$/
/** Maximum length in characters: SAML says 80 bytes (Bindings §3.4.3), and products accept more. */
const longestRelayState = 1_000

/**
 * Answers a logout request. The answer goes only to the address in the metadata, and is signed only if the
 * provider has signed the request: an unsigned answer is nothing that the sender couldn't have sent there
 * without Carrel (docs/decisions/0031).
 * @returns undefined if there is no such address, or the request has no valid ID or too long a RelayState
 */
export async function answerLogout(parts: Parts): Promise<LogoutAnswer | undefined> {
  const { request, status, idp, self, sign } = parts
  const { id, isSigned, message } = request
  if (!idPattern.test(id) || message.relayState.length > longestRelayState) return undefined
  const privateKey = isSigned ? (self.keys?.privateKey ?? null) : null
  const xmlFor = (destination: string) =>
    logoutResponseXml({ issuer: self.entityId, destination, inResponseTo: id, status })

  // The binding of the request is used if the provider has it.
  const [redirectUrl, postUrl] = [idp.logout?.responseUrl ?? null, idp.logoutResponsePostUrl]
  if (postUrl !== null && (message.binding === 'post' || redirectUrl === null)) {
    const xml = xmlFor(postUrl)
    const sent = privateKey === null ? xml : await sign(xml, privateKey)
    const relayState = message.relayState === '' ? {} : { RelayState: message.relayState }
    const fields = { SAMLResponse: Buffer.from(sent).toString('base64'), ...relayState }
    return { kind: 'form', action: postUrl, fields }
  }
  if (redirectUrl === null) return undefined
  // The signature of a redirect covers RelayState; that of a form doesn't, and anyone could have changed it.
  const relayState = isSigned && message.binding === 'post' ? '' : message.relayState
  return {
    kind: 'redirect',
    url: await redirectWith(xmlFor(redirectUrl), { url: redirectUrl, relayState, privateKey }),
  }
}
