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
  /** Certificates that vouch for the authenticator in the format of Android, the root last. @param hash of the client data */
  readonly vouchers?: (publicKey: KeyObject, hash: Buffer) => readonly Buffer[]
}

/** A software authenticator with one passkey, and the browser around it (WebAuthn Level 3): ES256, no attestation. */
export class Authenticator {
  readonly id = randomBytes(16).toString('base64url')
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  readonly #origin: string
  #handle: string | undefined
  #counter = 0

  constructor(origin: string) {
    this.#origin = origin
  }

  /** Answers `navigator.credentials.create`. */
  create({ challenge, rp, user }: PublicKey, lies: Lies = {}) {
    this.#handle = user?.id
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' })
    const bytes = (text: string) => Buffer.from(text, 'base64url')
    // A COSE key (RFC 9052 §7): an elliptic curve, ES256, P-256, x, y.
    const key = Buffer.concat([Buffer.from('a5010203262001215820', 'hex'), bytes(x), hex('225820'), bytes(y)])
    const credential = Buffer.concat([Buffer.alloc(16), hex('0010'), bytes(this.id), key])
    const data = Buffer.concat([this.#data(rp?.id ?? '', 0x40, lies), credential])
    const client = this.#clientData('webauthn.create', challenge, lies)
    const clientHash = hash('sha256', client, 'buffer')
    const certificates = lies.vouchers?.(this.#keys.publicKey, clientHash)
    const signature = sign('sha256', Buffer.concat([data, clientHash]), this.#keys.privateKey)
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
      signature: sign('sha256', signed, this.#keys.privateKey).toString('base64url'),
      ...(userHandle === null ? {} : { userHandle }),
    })
  }

  #answer<R>(response: R) {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response }
  }

  #clientData(type: string, challenge: string, { origin = this.#origin }: Lies): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
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

const hex = (text: string) => Buffer.from(text, 'hex')

/** A text of less than 24 bytes, or a byte string, in CBOR (RFC 8949 §3.1). */
const cbor = (value: string | Buffer): Buffer => {
  if (typeof value === 'string')
    return Buffer.concat([Buffer.from([0x60 | value.length]), Buffer.from(value)])
  return Buffer.concat([Buffer.from([0x59, value.length >> 8, value.length & 0xff]), value])
}
