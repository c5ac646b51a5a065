import type { FastifyRequest } from 'fastify'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Authenticated } from '../model/caller.ts'
import type { Accounts } from '../model/people.ts'
import type { Clock } from '../storage/storage.ts'
import { hashOfRecoveryCode, stepOf } from './factor-codes.ts'
import type { Factors, FactorsOf } from './factor-statements.ts'
import { type Challenged, type ChallengePurpose, credentialIn, type Passkeys } from './passkeys.ts'
import { guessOf, type Passwords, provePassword } from './passwords.ts'
import type { SealedSecrets } from './sealed-secrets.ts'
import { type Throttle, tooMany } from './throttle.ts'

/** What a client sends to prove that it has a factor, or, while there is none, that it knows the password. */
export interface Proof {
  readonly totp?: string
  readonly recovery?: string
  readonly webauthn?: unknown
  readonly password?: string
}

/** Who proves a factor, and what for. */
interface Proving extends Challenged {
  readonly known: FactorsOf['factors']
  readonly purpose: ChallengePurpose
  /** The event of what is proved. */
  readonly event: AuditEvent
}

/** Verifies proofs of factors, each of which works once (L12–L14). */
export interface FactorProofs {
  /** @returns undefined if the proof is right, else what was wrong @throws Problem after too many guesses */
  faultOf(proving: Proving, proof: Proof): Promise<string | undefined>
  faultOfPasskey(
    given: unknown,
    purpose: ChallengePurpose,
    factor: FactorsOf['factors'][number],
    whose: Challenged | null,
  ): Promise<string | undefined>
  /** Verifies the password of a caller who has no factor; without a password, their login must be fresh. */
  faultOfLogin(caller: Authenticated, proof: Proof, request: FastifyRequest): Promise<string | undefined>
}

/** Age in ms up to which the login of a session without a password is proof enough for a first factor. */
const freshFor = 600_000

interface Parts {
  readonly clock: Clock
  readonly factors: Pick<Factors, 'guess' | 'use' | 'useCode'>
  readonly passkeys: Pick<Passkeys, 'verify'>
  readonly passwords: Passwords
  readonly people: Pick<Accounts, 'credentials'>
  readonly sealed: SealedSecrets
  readonly throttle: Throttle
}

export function createFactorProofs(parts: Parts): FactorProofs {
  const { clock, factors, passkeys, people, sealed } = parts

  async function faultOf(
    { known, purpose, event, ...whose }: Proving,
    proof: Proof,
  ): Promise<string | undefined> {
    const eperson = whose.uuid
    if (proof.totp !== undefined) return (await isCode(eperson, known, proof.totp)) ? undefined : 'the code'
    if (proof.webauthn !== undefined) {
      const factor = known.find(
        ({ credential }) => credential !== null && credential === credentialIn(proof.webauthn),
      )
      return factor ? faultOfPasskey(proof.webauthn, purpose, factor, whose) : 'the passkey'
    }
    if (proof.recovery === undefined) return 'the factor'
    const hash = hashOfRecoveryCode(eperson, proof.recovery)
    const used = { ...event, event: 'factor.recover', outcome: 'success' } as const
    return (await factors.useCode(eperson, hash, used)) === undefined ? 'the recovery code' : undefined
  }

  async function isCode(eperson: string, known: FactorsOf['factors'], code: string): Promise<boolean> {
    const now = clock.now()
    const right = known.flatMap(({ id, kind, secret }) => {
      const opened = kind === 'totp' ? sealed.open(secret, id) : undefined
      const step = opened && stepOf(opened.secret, code, now)
      return step === undefined
        ? []
        : [{ id, step, secret: opened?.isOld ? sealed.seal(opened.secret, id) : null }]
    })
    const outcome = await factors.guess(eperson, right, now)
    if (typeof outcome === 'object') throw tooMany('wrong codes', outcome.wait)
    return outcome === 'right'
  }

  async function faultOfPasskey(
    given: unknown,
    purpose: ChallengePurpose,
    factor: FactorsOf['factors'][number],
    whose: Challenged | null,
  ): Promise<string | undefined> {
    const verified = await passkeys.verify(given, purpose, factor, whose)
    if (!verified) return 'the passkey'
    if (await factors.use(factor, verified.counter, clock.now())) return undefined
    return 'the passkey: its signature counter went back'
  }

  async function faultOfLogin(
    { begun, session }: Authenticated,
    { password }: Proof,
    request: FastifyRequest,
  ): Promise<string | undefined> {
    const { uuid: eperson, email: user } = session.eperson
    const stored = await people.credentials(user)
    if (stored?.uuid !== eperson || stored.passwordHash === null)
      return clock.now() - begun < freshFor ? undefined : 'the login is more than ten minutes ago'
    if (password === undefined) return 'the password'
    const guess = guessOf(request, user, eperson)
    return provePassword<string | undefined>(parts, guess, Buffer.from(password), stored.passwordHash, {
      right: async () => undefined,
      wrong: async reason => reason ?? 'the password',
    })
  }

  return { faultOf, faultOfLogin, faultOfPasskey }
}
