import type { SamlConfig, SamlServiceProvider } from '../../config/providers.ts'
import { Declined, type PendingLogin, type Protocol, Refused, type Vouched } from './protocol.ts'
import { confirm, unspecified, vouched } from './saml-assertion.ts'
import type { IdpMetadata } from './saml-idp.ts'
import { Library, type LibraryOptions, understood, ValidateInResponseTo } from './saml-library.ts'
import { type LogoutMessage, openLogout } from './saml-logout.ts'
import { type Keys, openResponse } from './saml-signed.ts'
import { decode, readHead } from './saml-xml.ts'

/**
 * SAML 2.0, web browser single sign-on and single logout (SAML Profiles §4.1, §4.4). Messages are
 * checked three times: `readHead` refuses what no honest provider sends, `saml-signed.ts` finds what was signed, and
 * `confirm` checks whom and what it was made for.
 */
export interface Saml extends Protocol {
  /** @param response as it was posted, in base64 @throws Refused */
  accept(response: string, pendingLogin: PendingLogin): Promise<Vouched>
  /** The provider's own logout request. @throws Refused */
  acceptLogout(message: LogoutMessage): Promise<LogoutRequest>
}

export interface LogoutRequest {
  readonly id: string
  /** The NameID of the user who logs out. */
  readonly name: string
  /**
   * @param hasEnded whether somebody was logged out; otherwise the status says that nobody is known by that name
   * @returns where the browser goes with the answer; undefined where the provider takes none by redirect
   */
  answer(hasEnded: boolean): Promise<string | undefined>
}

interface Parts {
  readonly provider: SamlConfig
  readonly self: SamlServiceProvider
  readonly metadata: () => IdpMetadata
  readonly acsUrl: string
  readonly logoutUrl: string
}

/** Milliseconds after which a logout request has expired. */
const logoutLifetime = 5 * 60_000

export function createSaml({ provider, self, metadata, acsUrl, logoutUrl }: Parts): Saml {
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
      // SAML Core §3.3.2.2.1: exactly one of them.
      ...(provider.authnContext
        ? { authnContext: [...provider.authnContext], racComparison: 'exact' }
        : { disableRequestedAuthnContext: true }),
      acceptedClockSkewMs: skew,
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      // What is expected back is in the browser's cookie, not in this process.
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
  const requestId = (pendingLogin: PendingLogin) => `_${pendingLogin.secret('saml-request')}`

  return {
    begin: async pendingLogin => {
      const saml = library(metadata(), {
        generateUniqueId: () => requestId(pendingLogin),
        forceAuthn: pendingLogin.asking === 'forced',
        passive: pendingLogin.asking === 'silent',
      })
      return saml.getAuthorizeUrlAsync(pendingLogin.state, undefined, {})
    },

    accept: async (response, pendingLogin) => {
      const idp = metadata()
      const xml = decode(response)
      const head = readHead(xml)
      if (head.name !== 'Response') throw new Refused('it is not a Response')
      if (head.issuer !== null && head.issuer !== idp.entityId) throw new Refused('another issuer')
      if (head.destination !== null && head.destination !== acsUrl) throw new Refused('another destination')
      if (head.status !== 'Success')
        throw new Declined('the provider did not authenticate the user (status code)')
      const profile = await understood(
        openResponse(xml, keysOf(idp)).then(signed => library(idp).read(signed)),
      )
      confirm(profile, { provider, idp, acsUrl, skew, requestId: requestId(pendingLogin), head })
      return vouched(provider, profile)
    },

    acceptLogout: async message => {
      const idp = metadata()
      const logout = await understood(openLogout(message, keysOf(idp)))
      if (logout.issuer !== idp.entityId) throw new Refused('another issuer')
      if (logout.destination !== null && logout.destination !== logoutUrl)
        throw new Refused('another destination')
      const isTimely = Math.abs(Date.now() - logout.issued) < logoutLifetime
      if (!isTimely || logout.notOnOrAfter < Date.now() - skew)
        throw new Refused('it is too old, or from the future')
      const { id, name } = logout
      const request = { ID: id, issuer: idp.entityId, nameID: name, nameIDFormat: unspecified }
      return {
        id,
        name,
        answer: async hasEnded =>
          idp.logout === null
            ? undefined
            : library(idp, { logoutUrl: idp.logout.responseUrl }).getLogoutResponseUrlAsync(
                request,
                message.relayState,
                {},
                hasEnded,
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
