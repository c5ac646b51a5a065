import { createHash, randomBytes, sign } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { canonicalText, writeCanonical } from '../../src/lib/canonical-xml.ts'
import { keepNode, readXml, type XmlHandler } from '../../src/lib/xml-stream.ts'
import type { Identity } from '../../test/support/providers/certificates.ts'
import { memberXml, namespaces } from '../../test/support/providers/federation.ts'

/**
 * Number of random bytes added to each generated member, which gives it the average size in eduGAIN. Their
 * form is one that no reader can skip.
 */
const padding = 3_260

/**
 * Writes signed metadata. @param members as XML @param others number of further members to generate @returns
 * its size in bytes
 */
export async function writeFederation(
  file: string,
  members: readonly string[],
  others: number,
  by: Identity,
): Promise<number> {
  const root = `<md:EntitiesDescriptor ${namespaces} ID="_federation" validUntil="${new Date(Date.now() + 86_400_000).toISOString()}">`
  function* body() {
    for (let at = 0; at < others; at++)
      yield memberXml({
        entityId: `https://idp${at}.example.edu/idp`,
        name: `University of ${at}`,
        names: { de: `Universität ${at}`, fr: `Université ${at}` },
        keywords: `town${at % 100} studies`,
        scopes: [`idp${at}.example.edu`],
        registrationAuthority: 'https://federation.example.org',
        more: `<md:NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:persistent</md:NameIDFormat><md:Extra>${randomBytes(
          padding,
        )
          .toString('base64')
          .replaceAll(/(.{76})/g, '$1\n')}</md:Extra>`,
      })
    yield* members
  }
  const hash = createHash('sha256')
  let parts: string[] = []
  const reader = readXml(writeCanonical(text => parts.push(text), []))
  const flush = () => {
    hash.update(parts.join(''))
    parts = []
  }
  // The signature comes first in the file, so the content is hashed before it is written.
  const all = [...body()]
  reader.write(root)
  for (const one of all) {
    reader.write(one)
    flush()
  }
  reader.write('</md:EntitiesDescriptor>')
  reader.end()
  flush()
  const out = createWriteStream(file)
  out.write(root + signatureOf(hash.digest('base64'), by))
  for (const one of all) out.write(one)
  out.end('</md:EntitiesDescriptor>')
  await finished(out)
  return out.bytesWritten
}

function signatureOf(digest: string, { privateKey }: Identity): string {
  const info = `<ds:SignedInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"></ds:SignatureMethod><ds:Reference URI="#_federation"><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"></ds:Transform><ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"></ds:DigestMethod><ds:DigestValue>${digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>`
  let canonical = ''
  let kept: XmlHandler | undefined
  const reader = readXml({
    open: element => {
      if (kept) kept.open(element)
      else
        kept = keepNode(element, node => {
          canonical = canonicalText(node, [], new Map())
        })
    },
    text: text => kept?.text(text),
    close: () => kept?.close(),
  })
  reader.write(info)
  reader.end()
  const value = sign('sha256', Buffer.from(canonical), privateKey).toString('base64')
  return `<ds:Signature>${info}<ds:SignatureValue>${value}</ds:SignatureValue></ds:Signature>`
}
