import { setTimeout } from 'node:timers/promises'
import { Problem } from '../http/problems.ts'
import { networkPrefix, siteOf } from '../lib/addresses.ts'
import { type Client, Overloaded } from '../lib/fair-queue.ts'
import type { Mac } from '../lib/hmac.ts'
import { emailKey, type LoginMethod } from '../model/accounts.ts'
import { deriveKey, type Keyring } from '../model/keys.ts'
import type { Measures } from '../model/measures.ts'
import type { Keys } from '../model/throttle.ts'
import type { Attempt, Attempts, Begun } from '../storage/attempts.ts'

/** The account being logged in to. */
export interface Account {
  /** The email address or name as it was typed, or another text that is unique to the account. */
  readonly user: string
  /** The eperson's UUID; null if there is no such account. */
  readonly eperson: string | null
}

/** A password sent as proof of identity. */
export interface Guess extends Account {
  readonly method: LoginMethod
  /** The client's address in canonical form; null if unknown. */
  readonly address: string | null
  /** The client that waits for the answer. */
  readonly client: Client
}

/**
 * Checks a password when it is its turn. It calls `admit` once before that, and passes its errors on.
 * @param client whose turn it is
 * @param admit counts the attempt, for the given account instead of the typed one if there is one
 */
export type Prove<T> = (client: Client, admit: (account?: Account) => Promise<void>) => Promise<T>

export interface Verdict {
  /** The reason in the audit trail if the next attempt has to wait; null if it doesn't. */
  readonly remark: string | null
  /** The client for the hashing queue, if something else is to be hashed. */
  readonly client: Client
}

/** Verifies passwords, and throttles guessing (L8, docs/decisions/0023). */
export interface Throttle {
  /**
   * Verifies a password. An attempt that fails without an answer isn't counted.
   * @throws Problem `too-many-attempts` if it has to wait; Overloaded if too many are waiting already
   */
  verify<T extends { readonly isRight: boolean }>(guess: Guess, prove: Prove<T>): Promise<T & Verdict>
  /**
   * Counts another action that has a limit, such as asking for a mail. It is counted apart from guesses.
   * @throws Problem `too-many-attempts` if it has to wait
   */
  count(what: string, address: string | null): Promise<void>
}

interface Parts {
  readonly attempts: Attempts
  readonly keyring: Keyring
  readonly measures: Pick<Measures, 'loginThrottled'>
  /** Average delay of a refusal, in ms. */
  readonly refusal: number
  /**
   * True if wrong passwords are answered only after that delay, too, so that the time doesn't show where they
   * were verified (docs/decisions/0033).
   */
  readonly holdsWrong: boolean
}

/** Maximum number of refusals held back at once; others are sent immediately. */
const maxHeld = 1_000

export function createThrottle({ attempts, keyring, measures, refusal: pause, holdsWrong }: Parts): Throttle {
  const keysOf = createKeys(keyring)
  let held = 0

  /** @param time in ms */
  async function hold(time: number): Promise<void> {
    if (held >= maxHeld || time <= 0) return
    held++
    await setTimeout(time)
    held--
  }

  async function refuse(error: unknown, method: LoginMethod): Promise<never> {
    const isThrottled = error instanceof Problem && error.code === 'too-many-attempts'
    if (isThrottled) measures.loginThrottled(method)
    // The delays differ: clients that were refused together would come again together.
    if (isThrottled || error instanceof Overloaded) await hold(pause * (0.5 + Math.random()))
    throw error
  }

  async function verify<T extends { readonly isRight: boolean }>(
    { user, eperson, address, client: asking }: Guess,
    prove: Prove<T>,
  ): Promise<T & Verdict> {
    const came = performance.now()
    const network = networkPrefix(address)
    const attemptOn = (account: Account): Attempt => ({
      keys: keysOf(account.user, network, siteOf(address)),
      eperson: account.eperson,
      network,
    })
    let attempt = attemptOn({ user, eperson })
    // Looked up without counting first: most of a flood ends here, and costs no write.
    const standing = await attempts.look(attempt)
    if (standing.wait > 0) throw refusal(standing.wait)
    const client = { ...asking, first: standing.isFamiliar }
    // Counted only at its turn: an attempt that waits, or that the queue refuses, is no guess yet.
    let begun: Begun | undefined
    const takeBack = async () => begun && attempts.takeBack(attempt, begun)
    let proof: T
    try {
      proof = await prove(client, async account => {
        if (account) attempt = attemptOn(account)
        const one = await attempts.begin(attempt)
        if (one.wait > 0) throw refusal(one.wait)
        begun = one
      })
    } catch (error) {
      await takeBack()
      throw error
    }
    if (proof.isRight) {
      await takeBack()
      return { ...proof, remark: null, client }
    }
    if (holdsWrong) await hold(came + pause - performance.now())
    const wait = begun?.pause ?? 0
    return { ...proof, remark: wait === 0 ? null : `the next attempt has to wait ${seconds(wait)} s`, client }
  }

  return {
    verify: (guess, prove) => verify(guess, prove).catch(error => refuse(error, guess.method)),
    count: async (what, address) => {
      const network = networkPrefix(address)
      const keys = keysOf(what, `asks ${network}`, `asks ${siteOf(address)}`)
      const { wait } = await attempts.begin({ keys, eperson: null, network })
      if (wait > 0) throw tooMany('requests', wait)
    },
  }
}

const seconds = (ms: number) => Math.ceil(ms / 1000)

/** The refusal of a guess, which is the same whether or not the account exists. */
const refusal = (wait: number) => tooMany('wrong passwords', wait)

const tooMany = (what: string, wait: number) =>
  new Problem('too-many-attempts', `Too many ${what}. Try again in ${seconds(wait)} seconds.`, {
    headers: { 'retry-after': String(seconds(wait)) },
  })

/**
 * Makes the keys of the counters. Typed names are kept only as keyed hashes: some people type their password
 * where the name belongs. After a rotation of the secret, counting starts again.
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

/** Length of a key in bytes. */
const keyLength = 16
