import { verify } from 'node:crypto'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import { Refused } from './protocol.ts'
import { type Keys, mustBeSigned, secretIn } from './saml-signed.ts'
import { children, maxUnpacked, namespaces, parse } from './saml-xml.ts'

/** A provider's logout request, by the way it came (SAML Bindings §3.4, §3.5); its signature is not verified yet. */
export type LogoutMessage = {
  readonly xml: string
  readonly relayState: string
} & (
  | { readonly binding: 'post' }
  | {
      readonly binding: 'redirect'
      /** The part of the query that was signed, as it was sent. */
      readonly octets: string
      readonly algorithm: string
      readonly signature: Buffer
    }
)

const inflate = promisify(inflateRaw)

/**
 * A message in a query. The same characters are read and verified: a name counts only as it was sent, and only once,
 * because some parsers take another spelling (`SAMLReques%74`) for the same name and others don't.
 * @throws Refused, or what the unpacking throws
 */
export async function messageInQuery(query: string): Promise<LogoutMessage> {
  const tokens = query.split('&')
  const one = (name: string) => {
    const [token, ...more] = tokens.filter(part => part.startsWith(`${name}=`))
    if (more.length > 0) throw new Refused(`${name} came twice`)
    return token
  }
  const [message, relayState, algorithm, signature] = [
    'SAMLRequest',
    'RelayState',
    'SigAlg',
    'Signature',
  ].map(one)
  if (message === undefined) throw new Refused('no SAMLRequest')
  if (algorithm === undefined || signature === undefined) throw new Refused('no signature')
  const unpacked = await inflate(Buffer.from(contentOf(message), 'base64'), { maxOutputLength: maxUnpacked })
  return {
    binding: 'redirect',
    xml: unpacked.toString(),
    relayState: relayState === undefined ? '' : contentOf(relayState),
    // SAML Bindings §3.4.4.1: in this order, as they were encoded.
    octets: [message, relayState, algorithm].filter(part => part !== undefined).join('&'),
    algorithm: contentOf(algorithm),
    signature: Buffer.from(contentOf(signature), 'base64'),
  }
}

const contentOf = (token: string) =>
  decodeURIComponent(token.slice(token.indexOf('=') + 1).replaceAll('+', ' '))

const digests: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha384': 'sha384',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': 'sha512',
}

/** @returns the request that the provider has signed @throws Refused where it has not */
function signedRequest(message: LogoutMessage, keys: Keys): Element {
  if (message.binding === 'post') return parse(mustBeSigned(message.xml, parse(message.xml), keys))
  const { octets, algorithm, signature } = message
  const digest = Object.hasOwn(digests, algorithm) ? digests[algorithm] : undefined
  if (digest === undefined) throw new Refused('the algorithm of the signature is not accepted')
  if (!keys.certificates.some(certificate => verify(digest, Buffer.from(octets), certificate, signature)))
    throw new Refused('the signature matches none of the provider’s certificates')
  return parse(message.xml)
}

/** What a logout request says, once it is known to be the provider's. */
export interface OpenedLogout {
  readonly id: string
  readonly issuer: string
  readonly destination: string | null
  /** Milliseconds since 1970; NaN where it is none. */
  readonly issued: number
  readonly notOnOrAfter: number
  /** The NameID of the user who logs out. */
  readonly name: string
}

/** @throws Refused, or whatever the libraries throw */
export async function openLogout(message: LogoutMessage, keys: Keys): Promise<OpenedLogout> {
  const root = signedRequest(message, keys)
  if (root.localName !== 'LogoutRequest' || root.namespaceURI !== namespaces.protocol)
    throw new Refused('it is not a LogoutRequest')
  const [id, ...more] = [
    ...children(root, namespaces.assertion, 'NameID'),
    ...children(root, namespaces.assertion, 'EncryptedID'),
  ]
  if (!id || more.length > 0) throw new Refused('it does not have exactly one NameID')
  const nameId = id.localName === 'NameID' ? id : await secretIn(id, 'NameID', keys)
  const name = (nameId.textContent ?? '').trim()
  if (name === '') throw new Refused('no NameID')
  const [issuer] = children(root, namespaces.assertion, 'Issuer')
  return {
    id: root.getAttribute('ID') ?? '',
    issuer: issuer?.textContent?.trim() ?? '',
    destination: root.hasAttribute('Destination') ? root.getAttribute('Destination') : null,
    issued: Date.parse(root.getAttribute('IssueInstant') ?? ''),
    notOnOrAfter: Date.parse(root.getAttribute('NotOnOrAfter') ?? ''),
    name,
  }
}
