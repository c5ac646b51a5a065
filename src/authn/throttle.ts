import { setTimeout } from 'node:timers/promises'
import { Problem } from '../http/problems.ts'
import { networkOf, siteOf } from '../lib/addresses.ts'
import { type Client, Overloaded } from '../lib/fair-queue.ts'
import type { Mac } from '../lib/hmac.ts'
import { emailKey, type LoginMethod } from '../model/accounts.ts'
import { deriveKey, type Keyring } from '../model/keys.ts'
import type { Measures } from '../model/measures.ts'
import type { Keys } from '../model/throttle.ts'
import type { Attempt, Attempts, Begun } from '../storage/attempts.ts'

/** Whose password somebody sends. */
export interface Account {
  /** The e-mail address or the name as it was typed, or what else there is only one of for the account. */
  readonly user: string
  /** null: there is no such account. */
  readonly eperson: string | null
}

/** A password that somebody sends to prove who they are. */
export interface Guess extends Account {
  readonly method: LoginMethod
  /** In canonical form; null: unknown. */
  readonly address: string | null
  /** Who waits for the answer. */
  readonly client: Client
}

/**
 * Looks at a password, when it is its turn. It calls `admit` before, once, and throws what that throws.
 * @param client whose turn it is
 * @param admit counts the attempt, of another account than was typed if one is given
 */
export type Prove<T> = (client: Client, admit: (account?: Account) => Promise<void>) => Promise<T>

export interface Verdict {
  /** For the audit trail: that the next attempt has to wait; null: it hasn't. */
  readonly remark: string | null
  /** For the queue of hashing, if something else is to be hashed. */
  readonly client: Client
}

/** Verifies passwords, and throttles guessing (L8, docs/decisions/0023). */
export interface Throttle {
  /**
   * An attempt that fails without an answer counts for nothing.
   * @throws Problem `too-many-attempts` if it has to wait; Overloaded if too many are waiting already
   */
  verify<T extends { readonly isRight: boolean }>(guess: Guess, prove: Prove<T>): Promise<T & Verdict>
  /**
   * Counts something else that may be done only so often, such as asking for a mail. It counts apart from guesses.
   * @throws Problem `too-many-attempts` if it has to wait
   */
  count(what: string, address: string | null): Promise<void>
}

interface Parts {
  readonly attempts: Attempts
  readonly keyring: Keyring
  readonly measures: Pick<Measures, 'loginThrottled'>
  /** How many ms a refusal is held back on average. */
  readonly refusal: number
  /** Whether wrong passwords are held back so long, too: what looked at them must not show (docs/decisions/0033). */
  readonly holdsWrong: boolean
}

/** How many refusals are held back at once; others get theirs immediately. */
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
    // Not all equally long: those who were refused together would come again together.
    if (isThrottled || error instanceof Overloaded) await hold(pause * (0.5 + Math.random()))
    throw error
  }

  async function verify<T extends { readonly isRight: boolean }>(
    { user, eperson, address, client: asking }: Guess,
    prove: Prove<T>,
  ): Promise<T & Verdict> {
    const came = performance.now()
    const network = networkOf(address)
    const attemptOn = (account: Account): Attempt => ({
      keys: keysOf(account.user, network, siteOf(address)),
      eperson: account.eperson,
      network,
    })
    let attempt = attemptOn({ user, eperson })
    // First without counting: most of a flood ends here, and costs no write.
    const standing = await attempts.look(attempt)
    if (standing.wait > 0) throw refusal(standing.wait)
    const client = { ...asking, first: standing.isFamiliar }
    // Not before its turn: what waits, and what the queue has no room for, is no guess yet.
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
      const network = networkOf(address)
      const keys = keysOf(what, `asks ${network}`, `asks ${siteOf(address)}`)
      const { wait } = await attempts.begin({ keys, eperson: null, network })
      if (wait > 0) throw tooMany('requests', wait)
    },
  }
}

const seconds = (ms: number) => Math.ceil(ms / 1000)

/** The same for every account, and for what is none. */
const refusal = (wait: number) => tooMany('wrong passwords', wait)

const tooMany = (what: string, wait: number) =>
  new Problem('too-many-attempts', `Too many ${what}. Try again in ${seconds(wait)} seconds.`, {
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
