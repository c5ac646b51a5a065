import { createPrivateKey, randomUUID, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import { escapeHtml } from '../http/html-page.ts'

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
export function logoutResponseXml({ issuer, destination, inResponseTo, status }: Response): string {
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
export async function redirectWith(xml: string, { url, relayState, privateKey }: Redirect): Promise<string> {
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
