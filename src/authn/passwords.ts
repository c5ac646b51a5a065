import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { clientOf } from '../http/connection.ts'
import { clientAddress } from '../lib/addresses.ts'
import type { Client, FairQueue } from '../lib/fair-queue.ts'
import { passwordMethod } from '../model/accounts.ts'
import type { Guess, Throttle, Turn } from './throttle.ts'

/**
 * Passwords are hashed with argon2id (RFC 9106) and the minimum parameters of OWASP's cheat sheet. Hashing
 * runs in libuv's threads, never on the event loop. Both concurrent and waiting hashes are limited in number.
 */
const usualCost: PasswordCost = { memory: 19_456, passes: 2, parallelism: 1, refusal: 1_000 }
const saltBytes = 16
const tagBytes = 32

export interface Passwords {
  /** Hashes a password when it is the client's turn. @returns a PHC string */
  hash(password: Uint8Array, client: Client): Promise<string>
  /**
   * Counts the guess of a turn in `queue`, and verifies its password. Always costs one hash, so that the time
   * doesn't reveal whether an account exists (L5).
   * @param phc the hash to compare with; null if there is none, and the password is then wrong
   * @returns true if the password is right
   * @throws Problem if the guess has to wait; nothing is hashed then
   */
  verify(password: Uint8Array, phc: string | null, turn: Pick<Turn, 'count'>): Promise<boolean>
  /** The queue in which guesses wait for their turn. */
  readonly queue: FairQueue
  /** Average delay of a refusal, in ms. */
  readonly refusal: number
  /** True if the hash uses weaker parameters than the current ones and should be replaced at the next login. */
  isOutdated(phc: string): boolean
}

/** argon2id parameters: memory in KiB, number of passes over it, and parallelism. */
interface HashCost {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

export interface PasswordCost extends HashCost {
  /** Average delay of a refusal, in ms: without it, a client that retries at once would take the time of all others. */
  readonly refusal: number
}

/**
 * @param queue limits how many passwords are hashed at once
 * @param cost not a setting: only a wiring other than the service's own, such as the tests', gives another cost
 * @throws Overloaded (from its methods) if too many are waiting already
 */
export function createPasswords(queue: FairQueue, { refusal, ...cost }: PasswordCost = usualCost): Passwords {
  return {
    hash: (password, client) => queue.run(client, () => hashPassword(password, cost)),
    verify: async (password, phc, turn) => {
      const known = phc === null ? undefined : readPhc(phc)
      const parameters = known
        ? { ...known, tagLength: known.tag.length }
        : { ...cost, salt: dummySalt, tagLength: tagBytes }
      await turn.count()
      const tag = await derive(password, parameters)
      return known !== undefined && timingSafeEqual(tag, known.tag)
    },
    queue,
    refusal,
    isOutdated: phc => {
      const known = readPhc(phc)
      return known.memory < cost.memory || known.passes < cost.passes || known.parallelism < cost.parallelism
    },
  }
}

/** Hashes a password for a command, without a queue; the service uses `Passwords`. @returns a PHC string */
export async function hashPassword(password: Uint8Array, cost: HashCost = usualCost): Promise<string> {
  const { memory, passes, parallelism } = cost
  const salt = randomBytes(saltBytes)
  const tag = await derive(password, { memory, passes, parallelism, salt, tagLength: tagBytes })
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`
}

const dummySalt = randomBytes(saltBytes)
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '')

interface Parameters extends HashCost {
  readonly salt: Uint8Array
  readonly tagLength: number
}

const derive = (message: Uint8Array, { salt, ...rest }: Parameters) =>
  new Promise<Buffer>((resolve, reject) =>
    argon2('argon2id', { message, nonce: salt, ...rest }, (error, tag) =>
      error ? reject(error) : resolve(tag),
    ),
  )

/** Parses a PHC string (https://github.com/P-H-C/phc-string-format). */
function readPhc(phc: string) {
  const [, m, t, p, salt, tag] =
    /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(phc) ?? []
  if (salt === undefined || tag === undefined) throw new Error('a stored password hash is not in PHC format')
  return {
    memory: Number(m),
    passes: Number(t),
    parallelism: Number(p),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

/** Makes the guess of a request that sends a password. @param eperson null if there is no such account */
export const guessOf = (
  request: FastifyRequest,
  user: string,
  eperson: string | null,
): Omit<Guess, 'method'> => ({
  user,
  eperson,
  address: clientAddress(request.ip),
  client: clientOf(request),
})

interface Outcomes<T> {
  right(turn: Turn): Promise<T>
  /** @param reason for the audit trail if the next attempt has to wait; else null */
  wrong(reason: string | null): Promise<T>
}

/**
 * Verifies a password that the store knows, in its turn at the throttle (L8), which ends after the outcome.
 * @param hash the hash to compare with; null if there is none, and the password is then wrong
 */
export async function provePassword<T>(
  { passwords, throttle }: { readonly passwords: Passwords; readonly throttle: Throttle },
  guess: Omit<Guess, 'method'>,
  password: Uint8Array,
  hash: string | null,
  { right, wrong }: Outcomes<T>,
): Promise<T> {
  await using turn = await throttle.turn({ ...guess, method: passwordMethod }, passwords.queue)
  if (!(await passwords.verify(password, hash, turn))) return await wrong(await turn.wrong())
  await turn.takeBack()
  return await right(turn)
}
