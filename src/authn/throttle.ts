import { setTimeout } from 'node:timers/promises'
import { Problem, type ProblemExtras } from '../http/problems.ts'
import { networkPrefix, siteOf } from '../lib/addresses.ts'
import { type Client, type FairQueue, Overloaded } from '../lib/fair-queue.ts'
import type { Mac } from '../lib/hmac.ts'
import { emailKey, type LoginMethod } from '../model/accounts.ts'
import { deriveKey, type Keyring } from '../model/keys.ts'
import type { Measures } from '../model/measures.ts'
import type { Keys } from '../model/throttle.ts'
import type { Attempt, Attempts, BegunAttempt as Begun } from './attempt-statements.ts'

/** The account being logged in to. */
interface Account {
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
 * A guess that may be verified now. It holds a place in its queue until it is judged or the turn ends. A turn
 * that ends without an answer, because something failed, is not counted as a guess.
 */
export interface Turn extends AsyncDisposable {
  /** The client for the hashing queue, if something else is to be hashed. */
  readonly client: Client
  /**
   * Counts the guess as a failure. Call it once, just before the password is verified: concurrent guesses then
   * see each other.
   * @param account counts it for this account instead of the typed one
   * @throws Problem `too-many-attempts` if it has to wait
   */
  count(account?: Account): Promise<void>
  /**
   * The password was wrong: the guess stays counted.
   * @returns the reason for the audit trail if the next attempt has to wait; null if it doesn't
   */
  wrong(): Promise<string | null>
  /** The password was right, so that it was no guess. */
  takeBack(): Promise<void>
}

/** Throttles the guessing of passwords (L8, docs/decisions/0023). */
export interface Throttle {
  /**
   * Waits for the turn of a guess.
   * @param queue limits how many passwords are verified at once
   * @throws Problem `too-many-attempts` if it has to wait; Overloaded if too many are waiting already
   */
  turn(guess: Guess, queue: FairQueue): Promise<Turn>
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

/** @param pause average delay of a refusal, in ms */
function createHolds(measures: Parts['measures'], pause: number) {
  let held = 0

  /** @param time in ms */
  async function hold(time: number): Promise<void> {
    if (held >= maxHeld || time <= 0) return
    held++
    await setTimeout(time)
    held--
  }

  /** Delays the answer to a refused guess. */
  async function holdRefusal(error: unknown, method: LoginMethod): Promise<void> {
    const isThrottled = error instanceof Problem && error.code === 'too-many-attempts'
    if (isThrottled) measures.loginThrottled(method)
    // The delays differ: clients that were refused together would come again together.
    if (isThrottled || error instanceof Overloaded) await hold(pause * (0.5 + Math.random()))
  }
  return { hold, holdRefusal }
}

/**
 * Waits for a place in the queue. Nothing is counted yet: an attempt that waits, or that the queue refuses,
 * is no guess.
 */
async function enter(attempts: Attempts, attempt: Attempt, asking: Client, queue: FairQueue) {
  // Looked up without counting first: most of a flood ends here, and costs no write.
  const standing = await attempts.look(attempt)
  if (standing.wait > 0) throw refusal(standing.wait)
  const client = { ...asking, first: standing.isFamiliar }
  return { client, leave: await queue.enter(client) }
}

export function createThrottle({ attempts, keyring, measures, refusal: pause, holdsWrong }: Parts): Throttle {
  const keysOf = createKeys(keyring)
  const { hold, holdRefusal } = createHolds(measures, pause)

  async function turn(guess: Guess, queue: FairQueue): Promise<Turn> {
    const came = performance.now()
    const { address, method } = guess
    const network = networkPrefix(address)
    const attemptOn = ({ user, eperson }: Account): Attempt => ({
      keys: keysOf(user, network, siteOf(address)),
      eperson,
      network,
    })
    let attempt = attemptOn(guess)
    const { client, leave } = await enter(attempts, attempt, guess.client, queue).catch(async error => {
      await holdRefusal(error, method)
      throw error
    })
    let counted: Begun | undefined
    let refused: unknown
    let isInQueue = true

    function leaveQueue(): void {
      if (isInQueue) leave()
      isInQueue = false
    }
    async function takeBack(): Promise<void> {
      const begun = counted
      counted = undefined
      leaveQueue()
      if (begun) await attempts.takeBack(attempt, begun)
    }
    return {
      client,
      count: async account => {
        if (account) attempt = attemptOn(account)
        try {
          const begun = await attempts.begin(attempt)
          if (begun.wait > 0) throw refusal(begun.wait)
          counted = begun
        } catch (error) {
          refused = error
          throw error
        }
      },
      wrong: async () => {
        const wait = counted?.pause ?? 0
        counted = undefined
        leaveQueue()
        if (holdsWrong) await hold(came + pause - performance.now())
        return wait === 0 ? null : `the next attempt has to wait ${seconds(wait)} s`
      },
      takeBack,
      [Symbol.asyncDispose]: async () => {
        // The answer is the error that ended the turn, even if the store can't take the guess back either.
        await takeBack().catch(() => {})
        // Held back only here, when the connection to a directory is closed as well.
        await holdRefusal(refused, method)
      },
    }
  }

  return {
    turn,
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

/** @param wait in ms */
export const tooMany = (what: string, wait: number, members: ProblemExtras['members'] = {}) =>
  new Problem('too-many-attempts', `Too many ${what}. Try again in ${seconds(wait)} seconds.`, {
    headers: { 'retry-after': String(seconds(wait)) },
    members,
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
