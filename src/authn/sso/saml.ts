import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import type { SamlConfig, SamlServiceProvider } from '../../config/sign-on.ts'
import { type Attempt, type Protocol, Refused, type Vouched } from './protocol.ts'
import { confirm, unspecified, vouched } from './saml-assertion.ts'
import { Library, type LibraryOptions, ValidateInResponseTo } from './saml-library.ts'
import { openResponse } from './saml-response.ts'
import { type IdpMetadata, isSoundSignature, readHead } from './saml-xml.ts'

/**
 * SAML 2.0, web browser single sign-on and single logout (SAML Profiles §4.1, §4.4). What comes is
 * looked at three times: `readHead` refuses what no honest provider sends, `openResponse` finds what was signed, and
 * `confirm` checks whom and what it was made for.
 */
export interface Saml extends Protocol {
  /** @param response as it was posted, in base64 @throws Refused */
  accept(response: string, attempt: Attempt): Promise<Vouched>
  /** The provider's own logout request. @throws Refused */
  acceptLogout(message: LogoutMessage): Promise<LogoutRequest>
}

export interface LogoutRequest {
  readonly id: string
  /** The NameID of whoever logs out. */
  readonly name: string
  /** Where the browser goes with the answer; undefined where the provider takes none by redirect. */
  answer(relayState: string, success: boolean): Promise<string | undefined>
}

/** A message of single logout, by the way it came (SAML Bindings §3.4, §3.5). */
export type LogoutMessage =
  | { readonly binding: 'post'; readonly message: string; readonly xml: string }
  | {
      readonly binding: 'redirect'
      readonly message: string
      readonly xml: string
      readonly signature: string
      readonly algorithm: string
      readonly relayState: string
      /** The query as it was sent: that is what was signed. */
      readonly query: string
    }

interface Parts {
  readonly provider: SamlConfig
  readonly self: SamlServiceProvider
  readonly metadata: () => IdpMetadata
  readonly acsUrl: string
  readonly logoutUrl: string
}

/** Milliseconds: a logout request that is older isn't one any more. */
const logoutLifetime = 5 * 60_000

export function createSaml({ provider, self, metadata, acsUrl, logoutUrl }: Parts): Saml {
  const skew = self.clockSkew * 1000
  function library(idp: IdpMetadata, more: Partial<LibraryOptions> = {}): Library {
    return new Library({
      idpCert: [...idp.certificates],
      idpIssuer: idp.entityId,
      issuer: self.entityId,
      audience: self.entityId,
      callbackUrl: acsUrl,
      entryPoint: idp.signInUrl,
      logoutUrl: idp.logout?.url ?? idp.signInUrl,
      identifierFormat: provider.nameIdFormat ?? null,
      disableRequestedAuthnContext: true,
      acceptedClockSkewMs: skew,
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      // What is expected back is in the browser's cookie, not in this process.
      validateInResponseTo: ValidateInResponseTo.never,
      cacheProvider: noCache,
      ...(self.keys && { privateKey: self.keys.privateKey, decryptionPvk: self.keys.privateKey }),
      ...more,
    })
  }
  const requestId = (attempt: Attempt) => `_${attempt.secret('saml-request')}`

  return {
    begin: async attempt => {
      const saml = library(metadata(), { generateUniqueId: () => requestId(attempt) })
      return saml.getAuthorizeUrlAsync(attempt.state, undefined, {})
    },

    accept: async (response, attempt) => {
      const idp = metadata()
      const xml = decode(response)
      const head = readHead(xml)
      if (head.name !== 'Response') throw new Refused('it is no Response')
      if (head.status !== 'Success') throw new Refused('the provider did not authenticate (status code)')
      if (head.issuer !== null && head.issuer !== idp.entityId) throw new Refused('another issuer')
      if (head.destination !== null && head.destination !== acsUrl) throw new Refused('another destination')
      const { certificates } = idp
      const privateKey = self.keys?.privateKey ?? null
      const profile = await understood(
        openResponse(xml, { certificates, privateKey }).then(signed => library(idp).read(signed)),
      )
      confirm(profile, { idp, acsUrl, skew, requestId: requestId(attempt), head })
      return vouched(provider, profile)
    },

    acceptLogout: async given => {
      const idp = metadata()
      const head = readHead(given.xml)
      if (head.name !== 'LogoutRequest' || head.id === null) throw new Refused('it is no LogoutRequest')
      if (head.destination !== null && head.destination !== logoutUrl)
        throw new Refused('another destination')
      if (!(Math.abs(Date.now() - head.issued) < logoutLifetime))
        throw new Refused('it is too old, or from the future')
      const { profile } = await understood(checkedLogout(library(idp), given))
      if (!profile?.nameID) throw new Refused('no NameID')
      const { id } = head
      return {
        id,
        name: profile.nameID,
        answer: async (relayState, success) =>
          idp.logout === null
            ? undefined
            : library(idp, { logoutUrl: idp.logout.responseUrl }).getLogoutResponseUrlAsync(
                { ...profile, ID: id },
                relayState,
                {},
                success,
              ),
      }
    },

    logoutUrl: async ({ name, sid, detail }) => {
      const idp = metadata()
      if (idp.logout === null) return undefined
      const user = {
        issuer: idp.entityId,
        nameID: name,
        nameIDFormat: detail.format ?? unspecified,
        ...(detail.nameQualifier && { nameQualifier: detail.nameQualifier }),
        ...(detail.spNameQualifier && { spNameQualifier: detail.spNameQualifier }),
        ...(sid !== null && { sessionIndex: sid }),
      }
      return library(idp).getLogoutUrlAsync(user, '', {})
    },
  }
}

const noCache = {
  saveAsync: async () => null,
  getAsync: async () => null,
  removeAsync: async () => null,
}

/** Bytes that a message may have once it is unpacked: a small one must not become a large one. */
const mostUnpacked = 256 * 1024
const inflate = promisify(inflateRaw)

/** @throws Refused */
export async function unpack(message: string, binding: LogoutMessage['binding']): Promise<string> {
  if (binding === 'post') return decode(message)
  const bytes = Buffer.from(message, 'base64')
  return understood(inflate(bytes, { maxOutputLength: mostUnpacked }).then(xml => xml.toString()))
}

function decode(base64: string): string {
  const xml = Buffer.from(base64, 'base64').toString()
  if (xml.length === 0 || xml.length > mostUnpacked) throw new Refused('it is empty, too long or no base64')
  return xml
}

/** The library signs off on a request by redirect that has no signature at all. */
function checkedLogout(saml: Library, given: LogoutMessage) {
  if (given.binding === 'post') return saml.validatePostRequestAsync({ SAMLRequest: given.message })
  const { message, signature, algorithm, relayState, query } = given
  if (signature === '') throw new Refused('no signature')
  if (!isSoundSignature(algorithm)) throw new Refused('a signature with an algorithm that is not accepted')
  const container = {
    SAMLRequest: message,
    Signature: signature,
    SigAlg: algorithm,
    ...(relayState !== '' && { RelayState: relayState }),
  }
  return saml.validateRedirectAsync(container, query)
}

/** What the library's errors may say in our log: the beginnings of those that quote nothing that is secret. */
const speakable =
  /^(Invalid (document )?signature|Too many signatures|SAML assertion (not yet valid|expired|has no AudienceRestriction|AudienceRestriction has no|audience mismatch)|Unknown SAML issuer|Missing SAML|No decryption key|Invalid query signature|Unable to process multiple conditions|SAML provider returned|Invalid EncryptedAssertion|Cannot obtain assertion)[^.:(\n]*/

/** Whatever a library throws at a message, the message is refused. */
async function understood<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refused) throw error
    const message = error instanceof Error ? error.message : ''
    throw new Refused(speakable.exec(message)?.[0] ?? 'it can not be read or decrypted')
  }
}
