import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Config } from '../config/config.ts'
import { sameText } from '../lib/hmac.ts'
import { isObject } from '../lib/json.ts'
import type { StoredFactor } from '../model/factors.ts'
import { deriveKey, type Keyring } from '../model/keys.ts'
import type { Clock } from '../storage/storage.ts'
import type { Tickets } from './tickets.ts'

/** What a challenge is for: a login with a passkey alone, the second step of a login, or a change of factors. */
export type ChallengePurpose = 'alone' | 'login' | 'proof'

/** Passkeys (WebAuthn Level 3). Origins and the relying party are those of CARREL_BASE_URL. */
export interface Passkeys {
  /** False if browsers refuse passkeys at the address of the service, such as one of bare digits. */
  readonly arePossible: boolean
  /** @param eperson null if the passkey is to say who logs in */
  requestOptions(purpose: ChallengePurpose, eperson: string | null, known: readonly StoredFactor[]): object
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
   * @returns the new signature counter; undefined if the answer isn't valid
   */
  verify(
    given: unknown,
    purpose: ChallengePurpose,
    factor: StoredFactor,
  ): Promise<{ readonly counter: number } | undefined>
}

export type NewPasskey = Pick<StoredFactor, 'counter' | 'credential' | 'secret'>

interface Parts {
  readonly clock: Clock
  readonly config: Pick<Config, 'baseUrl' | 'realm'>
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

/** The credential id in an answer of a browser; undefined if it is no answer. */
export const credentialIn = (given: unknown): string | undefined =>
  isObject(given) && typeof given.id === 'string' && given.id.length <= 1_400 && isObject(given.response)
    ? given.id
    : undefined

export function createPasskeys({ clock, config, keyring, tickets }: Parts): Passkeys {
  const { hostname, origin, protocol } = new URL(config.baseUrl)
  const rp = { id: hostname, name: config.realm }

  // A challenge says when it ends and is signed for its purpose, so that the store has only those that were used.
  const macOf = (secret: Uint8Array, purpose: string, eperson: string | null, start: Buffer) =>
    deriveKey(secret, 'challenge', Buffer.from(`${purpose}/${eperson ?? ''}/`))(start).subarray(0, macLength)
  function challengeFor(purpose: ChallengePurpose, eperson: string | null): string {
    const [newest] = keyring()
    if (!newest) throw new Error('there is no secret to sign with')
    const start = Buffer.concat([randomBytes(nonceLength), Buffer.alloc(timeLength)])
    start.writeUIntBE(Math.floor(clock.now() + challengeLifetime * 1000), nonceLength, timeLength)
    return Buffer.concat([start, macOf(newest, purpose, eperson, start)]).toString('base64url')
  }
  function isChallenge(text: string, purpose: ChallengePurpose, eperson: string | null): boolean {
    const bytes = Buffer.from(text, 'base64url')
    const start = bytes.subarray(0, nonceLength + timeLength)
    return (
      bytes.length === nonceLength + timeLength + macLength &&
      start.readUIntBE(nonceLength, timeLength) > clock.now() &&
      keyring().some(secret =>
        sameText(
          macOf(secret, purpose, eperson, start).toString('hex'),
          bytes.subarray(start.length).toString('hex'),
        ),
      )
    )
  }

  const allowed = (known: readonly StoredFactor[]) =>
    known.flatMap(({ credential }) => (credential === null ? [] : [{ id: credential, type: 'public-key' }]))
  const expected = { expectedOrigin: origin, expectedRPID: hostname }

  return {
    arePossible:
      isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && (protocol === 'https:' || hostname === 'localhost'),
    requestOptions: (purpose, eperson, known) => ({
      challenge: challengeFor(purpose, eperson),
      timeout: challengeLifetime * 1000,
      rpId: hostname,
      allowCredentials: allowed(known),
      userVerification: purpose === 'alone' ? 'required' : 'preferred',
    }),
    creationOptions: (challenge, { uuid, email, name }, alone, known) => ({
      challenge,
      rp,
      user: { id: userHandleOf(uuid), name: email, displayName: name },
      // EdDSA, ES256 and RS256.
      pubKeyCredParams: [-8, -7, -257].map(alg => ({ type: 'public-key', alg })),
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
      const verify = async () =>
        verifyRegistrationResponse({
          ...expected,
          response: await withoutCertificates(given as RegistrationResponseJSON),
          expectedChallenge: challenge,
          requireUserVerification: alone,
        })
      const { registrationInfo } = await verify().catch(refused)
      if (!registrationInfo) return undefined
      const { id, publicKey, counter } = registrationInfo.credential
      return { credential: id, secret: publicKey, counter }
    },
    verify: async (given, purpose, factor) => {
      const { credential, eperson, secret } = factor
      const handle = isObject(given) && isObject(given.response) ? given.response.userHandle : undefined
      const isOwn = handle == null ? purpose !== 'alone' : handle === userHandleOf(eperson)
      if (credential === null || credentialIn(given) !== credential || !isOwn) return undefined
      let challenge = ''
      const { verifyAuthenticationResponse } = await library()
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        ...expected,
        response: given as AuthenticationResponseJSON,
        expectedChallenge: sent => {
          challenge = sent
          return isChallenge(sent, purpose, purpose === 'alone' ? null : eperson)
        },
        // The store compares counters, so that two nodes can't both accept one.
        credential: { id: credential, publicKey: new Uint8Array(secret), counter: 0 },
        requireUserVerification: purpose === 'alone',
      }).catch(refused)
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
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
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
