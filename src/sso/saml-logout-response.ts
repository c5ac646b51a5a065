import { createPrivateKey, randomUUID, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import type { SamlServiceProvider } from '../config/providers.ts'
import { escapeHtml } from '../http/html-page.ts'
import type { IdpMetadata } from './metadata/idp.ts'
import type { LogoutMessage } from './saml-logout.ts'

/** The outcome of a provider's logout request (SAML Core §3.2.2.2). */
export type LogoutStatus =
  | 'Success'
  /** No session exists under that name. */
  | 'UnknownPrincipal'
  /**
   * The request isn't known to be the provider's, is too old, is meant for another recipient, or was used
   * before.
   */
  | 'RequestDenied'
  /** The request is the provider's, but can't be read. */
  | 'RequestUnsupported'

const statuses = 'urn:oasis:names:tc:SAML:2.0:status:'

interface Response {
  readonly issuer: string
  readonly destination: string
  readonly inResponseTo: string
  readonly status: LogoutStatus
}

/** A LogoutResponse (SAML Core §3.7.2). */
function logoutResponseXml({ issuer, destination, inResponseTo, status }: Response): string {
  const second = `<samlp:StatusCode Value="${statuses}${status}"/>`
  const code =
    status === 'Success'
      ? second
      : `<samlp:StatusCode Value="${statuses}Requester">${second}</samlp:StatusCode>`
  return `<samlp:LogoutResponse xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_${randomUUID()}" Version="2.0" IssueInstant="${new Date().toISOString()}" Destination="${escapeHtml(destination)}" InResponseTo="${escapeHtml(inResponseTo)}"><saml:Issuer>${escapeHtml(issuer)}</saml:Issuer><samlp:Status>${code}</samlp:Status></samlp:LogoutResponse>`
}

const deflate = promisify(deflateRaw)
const signWith = promisify(sign)

interface Redirect {
  readonly url: string
  /** Left out if it is empty. */
  readonly relayState: string
  /** PEM; null if the message isn't signed. */
  readonly privateKey: string | null
}

/** @returns the address with the message in its query (SAML Bindings §3.4.4.1) */
async function redirectWith(xml: string, { url, relayState, privateKey }: Redirect): Promise<string> {
  const packed = (await deflate(Buffer.from(xml))).toString('base64')
  const parameters = [
    ['SAMLResponse', packed],
    ...(relayState === '' ? [] : [['RelayState', relayState]]),
    ...(privateKey === null ? [] : [['SigAlg', 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256']]),
  ]
  const octets = parameters.map(([name, value = '']) => `${name}=${encodeURIComponent(value)}`).join('&')
  const separator = url.includes('?') ? '&' : '?'
  if (privateKey === null) return `${url}${separator}${octets}`
  const signature = await signWith('sha256', Buffer.from(octets), createPrivateKey(privateKey))
  return `${url}${separator}${octets}&Signature=${encodeURIComponent(signature.toString('base64'))}`
}

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
