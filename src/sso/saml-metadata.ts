import type { SamlServiceProvider } from '../config/providers.ts'
import { escapeHtml } from '../http/html-page.ts'
import type { SignOnAddresses } from './addresses.ts'

/**
 * Carrel's metadata for an identity provider (SAML 2.0 Metadata §2.4.4), and for a discovery service: the
 * addresses to which it may send browsers back (Identity Provider Discovery Service Protocol and Profile §3).
 */
export function serviceProviderMetadata(
  { entityId, keys }: SamlServiceProvider,
  addresses: SignOnAddresses,
  federations: readonly { readonly scheme: string }[],
): string {
  const certificate = keys?.certificate.replaceAll(/-----[^-]+-----|\s/g, '')
  const key = (use: string, methods: string) =>
    certificate === undefined
      ? ''
      : `
    <md:KeyDescriptor use="${use}">
      <ds:KeyInfo><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>${methods}
    </md:KeyDescriptor>`
  const encryption = ['2009/xmlenc11#aes256-gcm', '2009/xmlenc11#aes128-gcm', '2001/04/xmlenc#rsa-oaep-mgf1p']
    .map(name => `\n      <md:EncryptionMethod Algorithm="http://www.w3.org/${name}"/>`)
    .join('')
  const logout = ['HTTP-Redirect', 'HTTP-POST']
    .map(
      binding =>
        `\n    <md:SingleLogoutService Binding="${bindings}${binding}" Location="${escapeHtml(addresses.samlLogout)}"/>`,
    )
    .join('')
  const discovery = [...new Set(federations.map(({ scheme }) => scheme))].map(
    (scheme, index) =>
      `\n      <idpdisc:DiscoveryResponse xmlns:idpdisc="${discoveryBinding}" Binding="${discoveryBinding}" Location="${escapeHtml(addresses.scheme(scheme))}" index="${index}"/>`,
  )
  const extensions =
    discovery.length === 0 ? '' : `\n    <md:Extensions>${discovery.join('')}\n    </md:Extensions>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="${escapeHtml(entityId)}">
  <md:SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" AuthnRequestsSigned="${keys !== null}" WantAssertionsSigned="true">${extensions}${key('signing', '')}${key('encryption', encryption)}${logout}
    <md:AssertionConsumerService Binding="${bindings}HTTP-POST" Location="${escapeHtml(addresses.samlAcs)}" index="0" isDefault="true"/>
  </md:SPSSODescriptor>
</md:EntityDescriptor>
`
}

const discoveryBinding = 'urn:oasis:names:tc:SAML:profiles:SSO:idp-discovery-protocol'
const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings:'
