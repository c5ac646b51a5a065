import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** A key and a self-signed certificate for it, both in PEM. */
export interface Identity {
  readonly privateKey: string
  readonly certificate: string
}

interface Validity {
  /** rsa by default. */
  readonly kind?: Kind
  readonly notBefore?: Date
  readonly notAfter?: Date
}

type Kind = 'rsa' | 'ec'

const hour = 3_600_000

/**
 * Returns a key and a certificate. The same name yields the same key within a process, because generating one
 * takes time.
 */
export function identity(name: string, validity: Validity = {}): Identity {
  const privateKey = keyOf(name, validity.kind)
  return { privateKey, certificate: selfSigned(name, privateKey, validity) }
}

/** Returns a certificate without its first and last line, as in XML. */
export const bodyOf = (certificate: string): string => certificate.replace(/-----[^-]+-----|\s/g, '')

export const pemOf = (body: string): string =>
  ['-----BEGIN CERTIFICATE-----', ...(body.match(/.{1,64}/g) ?? []), '-----END CERTIFICATE-----', ''].join(
    '\n',
  )

const keys = new Map<string, string>()

function keyOf(name: string, kind: Kind = 'rsa'): string {
  const known = keys.get(name)
  if (known !== undefined) return known
  const { privateKey } =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const made = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  keys.set(name, made)
  return made
}

/** Creates a certificate of version 1, without extensions (RFC 5280 §4.1). */
function selfSigned(name: string, privateKey: string, validity: Validity): string {
  const {
    notBefore = new Date(Date.now() - hour),
    notAfter = new Date(Date.now() + 24 * hour),
    kind = 'rsa',
  } = validity
  const algorithm = algorithms[kind]
  const commonName = sequence(objectId('0603550403'), tagged(0x0c, Buffer.from(name)))
  const holder = sequence(tagged(0x31, commonName))
  const body = sequence(
    tagged(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    algorithm,
    holder,
    sequence(time(notBefore), time(notAfter)),
    holder,
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
  )
  const signature = tagged(0x03, Buffer.of(0), sign('sha256', body, privateKey))
  return pemOf(sequence(body, algorithm, signature).toString('base64'))
}

/** Encodes DER (X.690 §8.1): tag, length, content. */
function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts)
const objectId = (hex: string): Buffer => Buffer.from(hex, 'hex')
/** Identifiers of sha256WithRSAEncryption and ecdsa-with-SHA256. */
const algorithms = {
  rsa: sequence(objectId('06092a864886f70d01010b0500')),
  ec: sequence(objectId('06082a8648ce3d040302')),
}
/** Encodes a GeneralizedTime. */
const time = (date: Date): Buffer =>
  tagged(0x18, Buffer.from(`${date.toISOString().replace(/\D/g, '').slice(0, 14)}Z`))
