import type { SamlConfig, SamlServiceProvider } from '../config/providers.ts'
import { type Client, nobody } from '../lib/fair-queue.ts'
import type { ProviderSession } from '../model/identities.ts'
import { nameWithout, vouchedInFederation } from './federation.ts'
import type { IdpMetadata } from './metadata/idp.ts'
import { Declined, type PendingLogin, type Protocol, Refused, type Vouched } from './protocol.ts'
import type { MetadataOf } from './provider-metadata.ts'
import { confirm, unspecified, vouched } from './saml-assertion.ts'
import { bounds } from './saml-bounds.ts'
import { Library, type LibraryOptions, ValidateInResponseTo } from './saml-library.ts'
import type { LogoutContent, LogoutMessage } from './saml-logout.ts'
import {
  type Answerable,
  answerLogout,
  type LogoutAnswer,
  type LogoutStatus,
} from './saml-logout-response.ts'
import type { SamlMessages, SamlReader } from './saml-messages.ts'
import type { Keys } from './saml-signed.ts'
import { decode } from './saml-xml.ts'

/**
 * SAML 2.0, web browser single sign-on and single logout (SAML Profiles §4.1, §4.4). Messages are checked
 * three times: `readHead` refuses what no honest provider sends, `saml-signed.ts` finds what was signed, and
 * `confirm` checks for which user, recipient and time it was made.
 */
export interface Saml extends Protocol {
  /** @param response as it was posted, in base64 @throws Refused, Overloaded */
  accept(response: string, pendingLogin: PendingLogin, client: Client): Promise<Vouched>
  /**
   * Reads the provider's own logout request.
   * @param idp the issuer that the message names
   * @throws Refused if the provider has not signed it
   */
  readLogout(message: LogoutMessage, idp: IdpMetadata, reader: SamlReader): Promise<LogoutRequest>
  /** @returns undefined if the metadata has no address for an answer, or the message can't be answered safely */
  answerLogout(request: Answerable, status: LogoutStatus, idp: IdpMetadata): Promise<LogoutAnswer | undefined>
}

/** A logout request that the provider has signed. */
export interface LogoutRequest {
  readonly id: string
  /** The NameID of the user who logs out, or what is wrong with the request. */
  readonly content: { readonly name: string } | { readonly refused: string; readonly status: LogoutStatus }
}

interface Parts {
  readonly provider: SamlConfig
  readonly self: SamlServiceProvider
  readonly messages: SamlMessages
  readonly metadata: MetadataOf
  readonly acsUrl: string
  readonly logoutUrl: string
}

/** Time in ms after which a logout request has expired. */
const logoutLifetime = 5 * 60_000

export function createSaml({ provider, self, messages, metadata, acsUrl, logoutUrl }: Parts): Saml {
  const skew = self.clockSkew * 1000
  function library(idp: IdpMetadata, more: Partial<LibraryOptions> = {}): Library {
    return new Library({
      idpCert: [...idp.certificates],
      issuer: self.entityId,
      audience: self.entityId,
      callbackUrl: acsUrl,
      entryPoint: idp.signInUrl,
      logoutUrl: idp.logout?.url ?? idp.signInUrl,
      identifierFormat: provider.nameIdFormat ?? null,
      // SAML Core §3.3.2.2.1: the provider must use exactly one of these classes.
      ...(provider.authnContext
        ? { authnContext: [...provider.authnContext], racComparison: 'exact' }
        : { disableRequestedAuthnContext: true }),
      acceptedClockSkewMs: skew,
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      // The ID of the request is derived from the browser's cookie, not kept in this process.
      validateInResponseTo: ValidateInResponseTo.never,
      cacheProvider: noCache,
      ...(self.keys && { privateKey: self.keys.privateKey }),
      ...more,
    })
  }
  const keysOf = ({ certificates }: IdpMetadata): Keys => ({
    certificates,
    privateKey: self.keys?.privateKey ?? null,
  })
  function refusalOf(content: LogoutContent, idp: IdpMetadata): string | null {
    if (content.issuer !== idp.entityId) return 'another issuer'
    if (content.destination !== null && content.destination !== logoutUrl) return 'another destination'
    const isTimely = Math.abs(Date.now() - content.issued) < logoutLifetime
    return !isTimely || content.notOnOrAfter < Date.now() - skew ? 'it is too old, or from the future' : null
  }
  const requestId = (pendingLogin: PendingLogin) => `_${pendingLogin.secret('saml-request')}`

  return {
    begin: async (pendingLogin, client) => {
      const saml = library(await metadata.find(pendingLogin.entityId, client), {
        generateUniqueId: () => requestId(pendingLogin),
        forceAuthn: pendingLogin.asking === 'forced',
        passive: pendingLogin.asking === 'silent',
      })
      return saml.getAuthorizeUrlAsync(pendingLogin.state, undefined, {})
    },

    accept: async (response, pendingLogin, client) => {
      const idp = await metadata.find(pendingLogin.entityId, client)
      const xml = decode(response, bounds.response)
      const { head, read } = await messages.inTurn(client, async reader => {
        const head = await reader.head(xml, bounds.response)
        if (head.name !== 'Response') throw new Refused('it is not a Response')
        if (head.issuer !== null && head.issuer !== idp.entityId) throw new Refused('another issuer')
        if (head.destination !== null && head.destination !== acsUrl) throw new Refused('another destination')
        if (head.status !== 'Success')
          throw new Declined('the provider did not authenticate the user (status code)')
        return { head, read: await reader.openResponse(xml, keysOf(idp), self.entityId) }
      })
      confirm(read, { provider, idp, acsUrl, skew, requestId: requestId(pendingLogin), head })
      return vouchedInFederation(vouched(provider, idp, read), idp.entityId)
    },

    readLogout: async (message, idp, reader) => {
      const { id, content } = await reader.openLogout(message, keysOf(idp))
      if ('refused' in content) return { id, content: { ...content, status: 'RequestUnsupported' } }
      const refused = refusalOf(content, idp)
      return { id, content: refused === null ? content : { refused, status: 'RequestDenied' } }
    },

    answerLogout: (request, status, idp) => answerLogout({ request, status, idp, self, sign: messages.sign }),

    logoutUrl: async session => {
      const idp = await metadata.find(session.detail.idp ?? null, nobody)
      if (idp.logout === null) return undefined
      return library(idp).getLogoutUrlAsync(userOf(session, idp), '', {})
    },
  }
}

/** The user of a session, as the provider's logout names it. */
const userOf = ({ name, sid, detail }: ProviderSession, idp: IdpMetadata) => ({
  issuer: idp.entityId,
  nameID: nameWithout(name, detail.idp),
  nameIDFormat: detail.format ?? unspecified,
  ...(detail.nameQualifier && { nameQualifier: detail.nameQualifier }),
  ...(detail.spNameQualifier && { spNameQualifier: detail.spNameQualifier }),
  ...(sid !== null && { sessionIndex: sid }),
})

const noCache = { saveAsync: async () => null, getAsync: async () => null, removeAsync: async () => null }
