import { verify } from 'node:crypto'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import { Refused } from './protocol.ts'
import { bounds, refuseLarge } from './saml-bounds.ts'
import { understood } from './saml-library.ts'
import { type Keys, mustBeSigned, secretIn } from './saml-signed.ts'
import { children, namespaces, parse } from './saml-xml.ts'

/**
 * A provider's logout request by its binding (SAML Bindings §3.4, §3.5); its signature is not verified yet.
 */
export type LogoutMessage = {
  readonly xml: string
  readonly relayState: string
} & ({ readonly binding: 'post' } | { readonly binding: 'redirect'; readonly signed: SignedQuery | null })

interface SignedQuery {
  /** The part of the query that was signed, as it was sent. */
  readonly octets: string
  readonly algorithm: string
  readonly signature: Uint8Array
}

const inflate = promisify(inflateRaw)

/**
 * Reads a message in a query. The same characters are read and verified: a name counts only in its plain
 * spelling, and only once, because some parsers take another spelling (`SAMLReques%74`) for the same name and
 * others don't.
 * @throws Refused, or the error of unpacking
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
  const unpacked = await inflate(Buffer.from(decoded(message), 'base64'), {
    maxOutputLength: bounds.logout.bytes,
  })
  const xml = unpacked.toString()
  refuseLarge(xml, bounds.logout)
  return {
    binding: 'redirect',
    xml,
    relayState: relayState === undefined ? '' : decoded(relayState),
    signed:
      algorithm === undefined || signature === undefined
        ? null
        : {
            // SAML Bindings §3.4.4.1: in this order, as they were encoded.
            octets: [message, relayState, algorithm].filter(part => part !== undefined).join('&'),
            algorithm: decoded(algorithm),
            signature: Buffer.from(decoded(signature), 'base64'),
          },
  }
}

const decoded = (token: string) =>
  decodeURIComponent(token.slice(token.indexOf('=') + 1).replaceAll('+', ' '))

const digests: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha384': 'sha384',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': 'sha512',
}

/** @returns the request that the provider has signed @throws Refused if it has not */
function signedRequest(message: LogoutMessage, keys: Keys): Element {
  if (message.binding === 'post') return parse(mustBeSigned(message.xml, parse(message.xml), keys))
  if (message.signed === null) throw new Refused('no signature')
  const { octets, algorithm, signature } = message.signed
  const digest = Object.hasOwn(digests, algorithm) ? digests[algorithm] : undefined
  if (digest === undefined) throw new Refused('the algorithm of the signature is not accepted')
  if (!keys.certificates.some(certificate => verify(digest, Buffer.from(octets), certificate, signature)))
    throw new Refused('the signature matches none of the provider’s certificates')
  return parse(message.xml)
}

/** A logout request that the provider has signed. */
export interface OpenedLogout {
  readonly id: string
  /** The content, or the reason why it can't be read. */
  readonly content: LogoutContent | { readonly refused: string }
}

export interface LogoutContent {
  readonly issuer: string
  readonly destination: string | null
  /** Milliseconds since 1970; NaN if it is no time. */
  readonly issued: number
  readonly notOnOrAfter: number
  /** The NameID of the user who logs out. */
  readonly name: string
}

/** @throws Refused, or any error of the libraries, if the provider has not signed it */
export async function openLogout(message: LogoutMessage, keys: Keys): Promise<OpenedLogout> {
  const root = signedRequest(message, keys)
  const id = root.getAttribute('ID') ?? ''
  try {
    return { id, content: await understood(contentOf(root, keys)) }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { id, content: { refused: error.message } }
  }
}

async function contentOf(root: Element, keys: Keys): Promise<LogoutContent> {
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
    issuer: issuer?.textContent?.trim() ?? '',
    destination: root.hasAttribute('Destination') ? root.getAttribute('Destination') : null,
    issued: Date.parse(root.getAttribute('IssueInstant') ?? ''),
    notOnOrAfter: Date.parse(root.getAttribute('NotOnOrAfter') ?? ''),
    name,
  }
}
