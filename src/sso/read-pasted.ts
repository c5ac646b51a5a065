import type { SamlConfig, SamlServiceProvider } from '../config/providers.ts'
import type { IdpMetadata } from './metadata/idp.ts'
import { inspectIdp } from './metadata/inspect.ts'
import { type Attributes, Refused } from './protocol.ts'
import { vouched } from './saml-assertion.ts'
import { bounds } from './saml-bounds.ts'
import { readAssertion, understood } from './saml-library.ts'
import { type Keys, mustBeSigned, openResponse } from './saml-signed.ts'
import { children, decode, namespaces, parse, readHead, serialize } from './saml-xml.ts'

/**
 * Reads a pasted SAML response or assertion, to explain it. It is old, and answers no request. The result
 * says separately if its signature is valid, because it may have been shortened. Nothing unsigned is
 * decrypted.
 * @throws Refused, or an Error that says what is wrong with the metadata
 */
export async function readPasted(
  provider: SamlConfig,
  entityId: string | null,
  text: string,
  self: SamlServiceProvider,
): Promise<{ readonly attributes: Attributes; readonly idp: IdpMetadata; readonly signature: string }> {
  const xml = text.startsWith('<') ? text : decode(text, bounds.response)
  const { issuer } = readHead(xml, bounds.response)
  const asked = provider.federation ? (entityId ?? issuer ?? '') : undefined
  const { metadata: idp } = await inspectIdp(provider, asked)
  const keys: Keys = { certificates: idp.certificates, privateKey: self.keys?.privateKey ?? null }
  const { assertion, signature } = await opened(xml, keys)
  const content = await understood(readAssertion(assertion, idp.certificates, self.entityId))
  if (issuer !== null && issuer !== idp.entityId) throw new Refused(`its issuer is not ${idp.entityId}`)
  return { attributes: vouched(provider, idp, content).attributes, idp, signature }
}

async function opened(xml: string, keys: Keys): Promise<{ assertion: string; signature: string }> {
  const root = parse(xml)
  const isAssertion = root.localName === 'Assertion'
  try {
    const assertion = isAssertion ? mustBeSigned(xml, root, keys) : await understood(openResponse(xml, keys))
    return { assertion, signature: 'valid' }
  } catch (error) {
    const [plain] = isAssertion ? [root] : children(root, namespaces.assertion, 'Assertion')
    if (!(error instanceof Refused) || !plain) throw error
    return { assertion: serialize(plain), signature: error.message }
  }
}
