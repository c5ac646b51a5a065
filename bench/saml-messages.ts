import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { SignedXml } from 'xml-crypto'
import { scratch } from './support/folder.ts'
import { head, quantile, run } from './support/load.ts'
import { startCarrel } from './support/processes.ts'

/**
 * Sends anonymous SAML logout requests with bogus signatures and measures their effect on `status`: messages
 * of 66 kB, above the limit, and messages at the limit, signed with an unrelated key or copied from a signed
 * request and changed. They come over one connection and over many. `status` is requested on one connection,
 * alone and beside each of them.
 */
const seconds = 5
const connectionCounts = [1, 32]

const folder = scratch()
const issuer = 'https://idp.example.edu'
const keyFile = join(folder, 'idp.key')
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
const request = ['req', '-x509', '-new', '-key', keyFile, '-subj', '/CN=idp', '-days', '2']
const certificate = execFileSync('openssl', request).toString()
writeFileSync(
  join(folder, 'idp.xml'),
  `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${issuer}"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${certificate.replaceAll(/-----[^-]+-----|\s/g, '')}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${issuer}/slo"/><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${issuer}/sso"/></IDPSSODescriptor></EntityDescriptor>`,
)
const config = join(folder, 'carrel.json')
const provider = { id: 'uni', kind: 'saml', metadata: join(folder, 'idp.xml') }
writeFileSync(config, JSON.stringify({ singleSignOn: { providers: [provider] } }))

function signedLogout(inside: string, key: string): string {
  const xml = `<p:LogoutRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion" ID="_${randomUUID()}" Version="2.0" IssueInstant="${new Date().toISOString()}"><a:Issuer>${issuer}</a:Issuer><a:NameID>ruth</a:NameID>${inside}</p:LogoutRequest>`
  const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'
  const signer = new SignedXml({
    privateKey: key,
    signatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: exclusive,
  })
  signer.addReference({
    xpath: '/*',
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
    transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive],
  })
  signer.computeSignature(xml, {
    location: { reference: "/*/*[local-name(.)='Issuer']", action: 'after' },
  })
  return signer.getSignedXml()
}

const ownKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const anybody = ownKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const elements = (count: number, length: number) =>
  Array.from({ length: count }, (_, at) => `<a xmlns:x${at}="u" x${at}:b="1">${'x'.repeat(length)}</a>`).join(
    '',
  )
const floods: Readonly<Record<string, string>> = {
  '66 kB, signed by anybody': signedLogout(elements(900, 38), anybody),
  'within the bounds, signed by anybody': signedLogout(elements(80, 280), anybody),
  'within the bounds, signed by the provider and changed': signedLogout(
    elements(80, 280),
    readFileSync(keyFile, 'utf8'),
  ).replace('>ruth<', '>ada<'),
}

/**
 * Sends the same request repeatedly on each connection until aborted. @returns the number of answers by
 * status
 */
async function flood(address: string, xml: string, connections: number, signal: AbortSignal) {
  const { hostname, port } = new URL(address)
  const body = new URLSearchParams({ SAMLRequest: Buffer.from(xml).toString('base64') }).toString()
  const path = '/api/authn/sso/saml/logout'
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const whole = head('POST', path, { ...type, 'Content-Length': String(Buffer.byteLength(body)) }) + body
  const answers: Record<string, number> = {}
  /** Sends one request on a connection. @returns true if another can follow */
  const ask = (socket: ReturnType<typeof connect>) =>
    new Promise<boolean>(resolve => {
      const close = () => resolve(false)
      socket.once('data', (chunk: Buffer) => {
        socket.off('close', close)
        const status = chunk.toString('latin1', 9, 12)
        answers[status] = (answers[status] ?? 0) + 1
        resolve(!/connection: close/i.test(chunk.toString('latin1')))
      })
      socket.once('close', close)
      socket.write(whole)
    })
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (!signal.aborted) {
        const socket = connect(Number(port), hostname)
        socket.on('error', () => {})
        while (!signal.aborted && (await ask(socket)));
        socket.destroy()
      }
    }),
  )
  return answers
}

const service = await startCarrel(folder, { CARREL_CONFIG: config, CARREL_LOG_LEVEL: 'error' })
const askStatus = (duration: number) =>
  run({
    address: service.address,
    connections: 1,
    seconds: duration,
    next: () => head('GET', '/api/authn/status'),
  })
const show = ({ latencies }: Awaited<ReturnType<typeof run>>) =>
  `median ${quantile(latencies, 0.5).toFixed(2)} ms, p99 ${quantile(latencies, 0.99).toFixed(1)} ms, max ${quantile(latencies, 1).toFixed(0)} ms`

await askStatus(1)
console.log(`status alone: ${show(await askStatus(seconds))}`)
for (const [what, xml] of Object.entries(floods))
  for (const connections of connectionCounts) {
    const stop = new AbortController()
    const answered = flood(service.address, xml, connections, stop.signal)
    await askStatus(0.5)
    const measured = await askStatus(seconds)
    stop.abort()
    const counts = Object.entries(await answered).map(([status, count]) => `${status}: ${count}`)
    console.log(
      `${what} (${(xml.length / 1000).toFixed(0)} kB), ${connections} connections: ${show(measured)} (answered ${counts.join(', ')})`,
    )
  }
await service.stop()
