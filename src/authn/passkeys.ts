import { createPublicKey, randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Config } from '../config/config.ts'
import { sameText } from '../lib/hmac.ts'
import { isObject } from '../lib/json.ts'
import type { KeptSession } from '../model/accounts.ts'
import type { StoredFactor } from '../model/factors.ts'
import { deriveKey, type Keyring } from '../model/keys.ts'
import type { Clock } from '../storage/storage.ts'
import type { Tickets } from './tickets.ts'

/** What a challenge is for: a login with a passkey alone, the second step of a login, or a change of factors. */
export type ChallengePurpose = 'alone' | 'login' | 'proof'

/** The holder of a challenge, and the session that asks, by which it is signed: it ends with it. */
export interface Challenged extends KeptSession {
  readonly uuid: string
}

/** Passkeys (WebAuthn Level 3). Origins and the relying party are those of CARREL_BASE_URL. */
export interface Passkeys {
  /** False if browsers refuse passkeys at the address of the service, such as one of bare digits. */
  readonly arePossible: boolean
  /** @param whose null if the passkey is to say who logs in */
  requestOptions(purpose: ChallengePurpose, whose: Challenged | null, known: readonly StoredFactor[]): object
  /** @param person the eperson who enrols it @param known those that they have */
  creationOptions(
    challenge: string,
    person: { readonly uuid: string; readonly email: string; readonly name: string },
    alone: boolean,
    known: readonly StoredFactor[],
  ): object
  /** Verifies a new passkey. @returns undefined if it isn't valid */
  verifyNew(given: unknown, challenge: string, alone: boolean): Promise<NewPasskey | undefined>
  /**
   * Verifies an answer to a challenge, and uses the challenge up.
   * @param whose the holder of the challenge, as for `requestOptions`
   * @returns the new signature counter; undefined if the answer isn't valid
   */
  verify(
    given: unknown,
    purpose: ChallengePurpose,
    factor: StoredFactor,
    whose: Challenged | null,
  ): Promise<{ readonly counter: number } | undefined>
}

type NewPasskey = Pick<StoredFactor, 'counter' | 'credential' | 'secret'>

interface Parts {
  readonly clock: Clock
  readonly config: Pick<Config, 'baseUrl' | 'look'>
  readonly keyring: Keyring
  readonly tickets: Pick<Tickets, 'isFirst'>
}

/** Time in seconds for which a challenge is valid. */
const challengeLifetime = 120
const nonceLength = 16
const timeLength = 6
const macLength = 16

/** Loaded when it is first needed: it brings parsers of certificates along. */
const library = () => import('@simplewebauthn/server')
const helpers = () => import('@simplewebauthn/server/helpers')

/** The algorithms of passkeys, as COSE numbers them: EdDSA, ES256 and RS256. */
const algorithms = [-8, -7, -257] as const
/** Bits of an RSA modulus (NIST SP 800-131A), and the public exponent that authenticators use. */
const smallestModulus = 2_048
const usualExponent = 65_537n

/**
 * Refuses weak public keys, for which others could forge signatures. Strong are P-256, Ed25519, and RSA of a usual size.
 * @throws Error otherwise
 */
async function requireStrong(publicKey: Uint8Array): Promise<void> {
  const { cose, decodeCredentialPublicKey } = await helpers()
  const key = decodeCredentialPublicKey(new Uint8Array(publicKey))
  const text = (bytes: Uint8Array = new Uint8Array()) => Buffer.from(bytes).toString('base64url')
  const { COSECRV: curves, COSEKEYS: member } = cose
  const jwkOf = () => {
    const algorithm = key.get(member.alg)
    if (cose.isCOSEPublicKeyRSA(key) && algorithm === cose.COSEALG.RS256)
      return { kty: 'RSA', n: text(key.get(member.n)), e: text(key.get(member.e)) }
    if (!cose.isCOSEPublicKeyEC2(key) && !cose.isCOSEPublicKeyOKP(key)) return undefined
    const [curve, x] = [key.get(member.crv), text(key.get(member.x))]
    if (cose.isCOSEPublicKeyEC2(key))
      return algorithm === cose.COSEALG.ES256 && curve === curves.P256
        ? { kty: 'EC', crv: 'P-256', x, y: text(key.get(member.y)) }
        : undefined
    return algorithm === cose.COSEALG.EdDSA && curve === curves.ED25519
      ? { kty: 'OKP', crv: 'Ed25519', x }
      : undefined
  }
  const jwk = jwkOf()
  // A point that isn't on the curve is no key.
  const details = jwk && createPublicKey({ key: jwk, format: 'jwk' }).asymmetricKeyDetails
  const { modulusLength = smallestModulus, publicExponent = usualExponent } = details ?? { modulusLength: 0 }
  if (modulusLength < smallestModulus || publicExponent !== usualExponent)
    throw new Error('the public key is weak, or of an algorithm that was not asked for')
}

/** The credential id in an answer of a browser; undefined if it is no answer. */
export const credentialIn = (given: unknown): string | undefined =>
  isObject(given) && typeof given.id === 'string' && given.id.length <= 1_400 && isObject(given.response)
    ? given.id
    : undefined

/** A challenge says when it ends and is signed for its purpose, so that the store has only those that were used. */
function createChallenges({ clock, keyring }: Pick<Parts, 'clock' | 'keyring'>) {
  function macOf(secret: Uint8Array, purpose: string, whose: Challenged | null, start: Buffer) {
    const { uuid, begun, key } = whose ?? { uuid: '', begun: 0, key: new Uint8Array() }
    const holder = Buffer.concat([Buffer.from(`${purpose}/${uuid}/${begun}/`), key])
    return deriveKey(secret, 'challenge', holder)(start).subarray(0, macLength)
  }
  function challengeFor(purpose: ChallengePurpose, whose: Challenged | null): string {
    const [newest] = keyring()
    if (!newest) throw new Error('there is no secret to sign with')
    const start = Buffer.concat([randomBytes(nonceLength), Buffer.alloc(timeLength)])
    start.writeUIntBE(Math.floor(clock.now() + challengeLifetime * 1000), nonceLength, timeLength)
    return Buffer.concat([start, macOf(newest, purpose, whose, start)]).toString('base64url')
  }
  function isChallenge(text: string, purpose: ChallengePurpose, whose: Challenged | null): boolean {
    const bytes = Buffer.from(text, 'base64url')
    const start = bytes.subarray(0, nonceLength + timeLength)
    return (
      bytes.length === nonceLength + timeLength + macLength &&
      start.readUIntBE(nonceLength, timeLength) > clock.now() &&
      keyring().some(secret =>
        sameText(
          macOf(secret, purpose, whose, start).toString('hex'),
          bytes.subarray(start.length).toString('hex'),
        ),
      )
    )
  }
  return { challengeFor, isChallenge }
}

const allowed = (known: readonly StoredFactor[]) =>
  known.flatMap(({ credential }) => (credential === null ? [] : [{ id: credential, type: 'public-key' }]))

/** @throws Error if a page of another origin framed the one that asked (WebAuthn Level 3, §7.1 and §7.2) */
async function requireUnframed(clientData: string): Promise<void> {
  const { decodeClientDataJSON } = await helpers()
  const { crossOrigin, topOrigin } = decodeClientDataJSON(clientData)
  if (crossOrigin || topOrigin !== undefined) throw new Error('the page was in a frame of another origin')
}

export function createPasskeys(parts: Parts): Passkeys {
  const { config, tickets } = parts
  const { challengeFor, isChallenge } = createChallenges(parts)
  const { hostname, origin, protocol } = new URL(config.baseUrl)
  const rp = { id: hostname, name: config.look.name }
  const expected = { expectedOrigin: origin, expectedRPID: hostname }

  return {
    arePossible:
      isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && (protocol === 'https:' || hostname === 'localhost'),
    requestOptions: (purpose, whose, known) => ({
      challenge: challengeFor(purpose, whose),
      timeout: challengeLifetime * 1000,
      rpId: hostname,
      allowCredentials: allowed(known),
      userVerification: purpose === 'alone' ? 'required' : 'preferred',
    }),
    creationOptions: (challenge, { uuid, email, name }, alone, known) => ({
      challenge,
      rp,
      user: { id: userHandleOf(uuid), name: email, displayName: name },
      pubKeyCredParams: algorithms.map(alg => ({ type: 'public-key', alg })),
      timeout: challengeLifetime * 1000,
      excludeCredentials: allowed(known),
      authenticatorSelection: alone
        ? { residentKey: 'required', requireResidentKey: true, userVerification: 'required' }
        : { residentKey: 'discouraged', requireResidentKey: false, userVerification: 'preferred' },
      attestation: 'none',
    }),
    verifyNew: async (given, challenge, alone) => {
      if (credentialIn(given) === undefined) return undefined
      const { verifyRegistrationResponse } = await library()
      const verify = async () => {
        const response = await withoutCertificates(given as RegistrationResponseJSON)
        await requireUnframed(response.response.clientDataJSON)
        const verified = await verifyRegistrationResponse({
          ...expected,
          response,
          expectedChallenge: challenge,
          requireUserVerification: alone,
          supportedAlgorithmIDs: [...algorithms],
        })
        if (verified.registrationInfo) await requireStrong(verified.registrationInfo.credential.publicKey)
        return verified
      }
      const { registrationInfo } = await verify().catch(refused)
      if (!registrationInfo) return undefined
      const { id, publicKey, counter } = registrationInfo.credential
      return { credential: id, secret: publicKey, counter }
    },
    verify: async (given, purpose, factor, whose) => {
      const { credential, eperson, secret } = factor
      const handle = isObject(given) && isObject(given.response) ? given.response.userHandle : undefined
      const isOwn = handle == null ? purpose !== 'alone' : handle === userHandleOf(eperson)
      if (credential === null || credentialIn(given) !== credential || !isOwn) return undefined
      let challenge = ''
      const { verifyAuthenticationResponse } = await library()
      const verify = async () => {
        const response = given as AuthenticationResponseJSON
        await requireUnframed(response.response.clientDataJSON)
        await requireStrong(secret)
        return verifyAuthenticationResponse({
          ...expected,
          response,
          expectedChallenge: sent => {
            challenge = sent
            return isChallenge(sent, purpose, whose)
          },
          // The store compares counters, so that two nodes can't both accept one.
          credential: { id: credential, publicKey: new Uint8Array(secret), counter: 0 },
          requireUserVerification: purpose === 'alone',
        })
      }
      const { verified, authenticationInfo } = await verify().catch(refused)
      if (!verified || !authenticationInfo) return undefined
      if (!(await tickets.isFirst('challenge', challenge, challengeLifetime))) return undefined
      return { counter: authenticationInfo.newCounter }
    },
  }
}

/**
 * Returns an answer whose attestation has no certificates, as all have that were asked for none (WebAuthn Level 3,
 * §5.1.3). The library would fetch lists of revocations from wherever the certificates say.
 * @throws Error if it has some, or can't be read
 */
async function withoutCertificates(given: RegistrationResponseJSON): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject } = await helpers()
  const bytes = new Uint8Array(Buffer.from(given.response.attestationObject, 'base64url'))
  const attestation = decodeAttestationObject(bytes)
  const format = attestation.get('fmt')
  if (format !== 'none' && (format !== 'packed' || attestation.get('attStmt').get('x5c') !== undefined))
    throw new Error('the attestation has certificates')
  // Encoded again, so that the library can't read anything else in it.
  const attestationObject = Buffer.from(bytes).toString('base64url')
  return { ...given, response: { ...given.response, attestationObject } }
}

/** Whatever the library can't read or verify is refused: the client sent it. */
const refused = () =>
  ({ verified: false, registrationInfo: undefined, authenticationInfo: undefined }) as const

/** The user handle of a passkey: the bytes of the eperson's UUID, which say nothing about them. */
const userHandleOf = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url')
