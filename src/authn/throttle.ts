import { setTimeout } from 'node:timers/promises'
import { Problem } from '../http/problems.ts'
import { networkOf, siteOf } from '../lib/addresses.ts'
import { type Client, Overloaded } from '../lib/fair-queue.ts'
import type { Mac } from '../lib/hmac.ts'
import { emailKey, passwordMethod } from '../model/accounts.ts'
import { deriveKey, type Keyring } from '../model/keys.ts'
import type { Measures } from '../model/measures.ts'
import type { Keys } from '../model/throttle.ts'
import type { Attempt, Attempts } from '../storage/attempts.ts'
import type { Passwords } from './passwords.ts'

/** A password that somebody sends to prove who they are. */
export interface Guess {
  /** The e-mail address as it was typed. */
  readonly user: string
  readonly password: Uint8Array
  /** null: there is no such account. */
  readonly eperson: string | null
  /** What to compare with; null: nothing, the answer is no. */
  readonly hash: string | null
  /** In canonical form; null: unknown. */
  readonly address: string | null
  /** Who waits for the answer. */
  readonly client: Client
}

export interface Verdict {
  readonly isRight: boolean
  /** For the audit trail: that the next attempt has to wait; null: it hasn't. */
  readonly remark: string | null
  /** For the queue of hashing, if something else is to be hashed. */
  readonly client: Client
}

/** Verifies passwords, and throttles guessing (L8, docs/decisions/0023). */
export interface Throttle {
  /**
   * Costs one hash, unless it is refused, whether or not there is such an account (L5).
   * @throws Problem `too-many-attempts` if it has to wait; Overloaded if too many are waiting already
   */
  verify(guess: Guess): Promise<Verdict>
}

interface Parts {
  readonly attempts: Attempts
  readonly keyring: Keyring
  readonly measures: Pick<Measures, 'loginThrottled'>
  readonly passwords: Passwords
}

/** How many refusals are held back at once; others get theirs immediately. */
const maxHeld = 1_000

export function createThrottle({ attempts, keyring, measures, passwords }: Parts): Throttle {
  const keysOf = createKeys(keyring)
  let held = 0

  async function hold(error: unknown): Promise<never> {
    const isThrottled = error instanceof Problem && error.code === 'too-many-attempts'
    if (isThrottled) measures.loginThrottled(passwordMethod)
    if ((isThrottled || error instanceof Overloaded) && held < maxHeld) {
      held++
      // Not all equally long: those who were refused together would come again together.
      await setTimeout(passwords.refusal * (0.5 + Math.random()))
      held--
    }
    throw error
  }

  async function verify({ user, password, eperson, hash, address, client: asking }: Guess): Promise<Verdict> {
    const network = networkOf(address)
    const attempt: Attempt = { keys: keysOf(user, network, siteOf(address)), eperson, network }
    // First without counting: most of a flood ends here, and costs no write.
    const { wait, isFamiliar } = await attempts.look(attempt)
    if (wait > 0) throw refusal(wait)
    const client = { ...asking, first: isFamiliar }
    // Not before its turn: what waits, and what the queue has no room for, is no guess yet.
    const begun = await passwords.verify(password, hash, client, async () => {
      const one = await attempts.begin(attempt)
      if (one.wait > 0) throw refusal(one.wait)
      return one
    })
    if (begun.isRight) await attempts.takeBack(attempt, begun.admission)
    const { pause } = begun.admission
    const remark = begun.isRight || pause === 0 ? null : `the next attempt has to wait ${seconds(pause)} s`
    return { isRight: begun.isRight, remark, client }
  }

  return { verify: guess => verify(guess).catch(hold) }
}

const seconds = (ms: number) => Math.ceil(ms / 1000)

/** The same for every account, and for what is none. */
const refusal = (wait: number) =>
  new Problem('too-many-attempts', `Too many wrong passwords. Try again in ${seconds(wait)} seconds.`, {
    headers: { 'retry-after': String(seconds(wait)) },
  })

/**
 * Names typed by anybody are kept only as keyed hashes: some type their password where the name belongs. After a rotation
 * of the secret, counting starts again.
 */
function createKeys(keyring: Keyring): (user: string, network: string, site: string) => Keys {
  let secret: Uint8Array | undefined
  let mac: Mac | undefined
  const currentMac = () => {
    const [newest] = keyring()
    if (!newest) throw new Error('there is no secret to derive a key from')
    if (newest !== secret || !mac) mac = deriveKey(newest, 'throttle', new Uint8Array())
    secret = newest
    return mac
  }
  return (user, network, site) => {
    const key = (...parts: readonly string[]) =>
      currentMac()(Buffer.from(parts.join('\0'))).toString('base64url', 0, keyLength)
    const account = emailKey(user)
    return {
      'account-and-network': key('account-and-network', network, account),
      account: key('account', account),
      network: key('network', network),
      site: key('site', site),
    }
  }
}

/** In bytes. */
const keyLength = 16
