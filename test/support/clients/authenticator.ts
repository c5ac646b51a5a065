import { generateKeyPairSync, hash, type KeyObject, randomBytes, sign } from 'node:crypto'

/** The members of `publicKey` in the service's answers that an authenticator reads. */
export interface PublicKey {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id: string }
  readonly user?: { readonly id: string }
  readonly allowCredentials?: readonly { readonly id: string }[]
}

/** Departures from what an honest authenticator and browser do. */
interface Lies {
  readonly origin?: string
  readonly rpId?: string
  readonly userHandle?: string | null
  readonly verifiesUser?: boolean
  /** Signature counter; by default it grows. */
  readonly counter?: number
  /** Members of the client data about a frame around the page. */
  readonly frame?: { readonly crossOrigin?: unknown; readonly topOrigin?: string }
  /** A public key in COSE, in place of its own. */
  readonly publicKey?: Buffer
  /** Certificates that vouch for the authenticator in the format of Android, the root last. @param hash of the client data */
  readonly vouchers?: (publicKey: KeyObject, hash: Buffer) => readonly Buffer[]
}

interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/**
 * A software authenticator with one passkey, and the browser around it (WebAuthn Level 3), without attestation. By default it
 * signs with ES256.
 */
export class Authenticator {
  readonly id = randomBytes(16).toString('base64url')
  readonly #keys: Keys
  readonly #origin: string
  #handle: string | undefined
  #counter = 0

  constructor(origin: string, keys: Keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })) {
    this.#origin = origin
    this.#keys = keys
  }

  #sign(data: Buffer): Buffer {
    return sign(
      this.#keys.privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256',
      data,
      this.#keys.privateKey,
    )
  }

  /** Answers `navigator.credentials.create`. */
  create({ challenge, rp, user }: PublicKey, lies: Lies = {}) {
    this.#handle = user?.id
    const key = lies.publicKey ?? coseOf(this.#keys.publicKey)
    const id = Buffer.from(this.id, 'base64url')
    const credential = Buffer.concat([Buffer.alloc(16), hex('0010'), id, key])
    const data = Buffer.concat([this.#data(rp?.id ?? '', 0x40, lies), credential])
    const client = this.#clientData('webauthn.create', challenge, lies)
    const clientHash = hash('sha256', client, 'buffer')
    const certificates = lies.vouchers?.(this.#keys.publicKey, clientHash)
    const signature = this.#sign(Buffer.concat([data, clientHash]))
    const statement = certificates
      ? [
          cbor('android-key'),
          cbor('attStmt'),
          hex('a3'),
          cbor('alg'),
          hex('26'),
          cbor('sig'),
          cbor(signature),
        ]
      : [cbor('none'), cbor('attStmt'), hex('a0')]
    const chain = certificates
      ? [cbor('x5c'), Buffer.from([0x80 | certificates.length]), ...certificates.map(cbor)]
      : []
    const whole = [hex('a3'), cbor('fmt'), ...statement, ...chain, cbor('authData'), cbor(data)]
    return this.#answer({
      clientDataJSON: client.toString('base64url'),
      attestationObject: Buffer.concat(whole).toString('base64url'),
    })
  }

  /** Answers `navigator.credentials.get`. */
  get({ challenge, rpId }: PublicKey, lies: Lies = {}) {
    const client = this.#clientData('webauthn.get', challenge, lies)
    const data = this.#data(rpId ?? '', 0, lies)
    const signed = Buffer.concat([data, hash('sha256', client, 'buffer')])
    const { userHandle = this.#handle } = lies
    return this.#answer({
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: this.#sign(signed).toString('base64url'),
      ...(userHandle === null ? {} : { userHandle }),
    })
  }

  #answer<R>(response: R) {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response }
  }

  #clientData(type: string, challenge: string, { origin = this.#origin, frame }: Lies): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...frame }))
  }

  /** Authenticator data (§6.1) up to the attested credential. */
  #data(rpId: string, flags: number, lies: Lies): Buffer {
    this.#counter = lies.counter ?? this.#counter + 1
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.#counter)
    const user = (lies.verifiesUser ?? true) ? 0x05 : 0x01
    return Buffer.concat([hash('sha256', lies.rpId ?? rpId, 'buffer'), Buffer.from([user | flags]), counter])
  }
}

/** A public key in COSE (RFC 9052 §7, RFC 8230 §4): its type, algorithm, curve or modulus, and the rest. */
export function coseOf(publicKey: KeyObject, algorithm?: string): Buffer {
  const { kty, crv, x = '', y = '', n = '', e = '' } = publicKey.export({ format: 'jwk' })
  const bytes = (text: string) => cbor(Buffer.from(text, 'base64url'))
  if (kty === 'RSA')
    return Buffer.concat([
      hex('a4010303'),
      hex(algorithm ?? '390100'),
      hex('20'),
      bytes(n),
      hex('21'),
      bytes(e),
    ])
  if (kty === 'OKP') return Buffer.concat([hex('a4010103'), hex(algorithm ?? '27'), hex('200621'), bytes(x)])
  const curve = { 'P-256': '01', 'P-384': '02', 'P-521': '03' }[crv ?? ''] ?? '08'
  return Buffer.concat([
    hex('a5010203'),
    hex(algorithm ?? '26'),
    hex(`20${curve}21`),
    bytes(x),
    hex('22'),
    bytes(y),
  ])
}

const hex = (text: string) => Buffer.from(text, 'hex')

/** A text of less than 24 bytes, or a byte string, in CBOR (RFC 8949 §3.1). */
const cbor = (value: string | Buffer): Buffer => {
  if (typeof value === 'string')
    return Buffer.concat([Buffer.from([0x60 | value.length]), Buffer.from(value)])
  const { length } = value
  const head =
    length < 24 ? [0x40 | length] : length < 256 ? [0x58, length] : [0x59, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), value])
}
