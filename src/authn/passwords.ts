import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Client, FairQueue } from '../lib/fair-queue.ts'

/**
 * Passwords: argon2id (RFC 9106) with the minimum parameters of OWASP's cheat sheet. Hashing runs in libuv's threads, never
 * on the event loop. The number of hashes at once has a limit, and so has the number of those that wait.
 */
const usualCost: PasswordCost = { memory: 19_456, passes: 2, parallelism: 1, refusal: 1_000 }
const saltBytes = 16
const tagBytes = 32

export interface Passwords {
  /** @returns a PHC string, made when it is the client's turn */
  hash(password: Uint8Array, client: Client): Promise<string>
  /**
   * Always costs one hash, so that the time doesn't reveal whether an account exists (L5).
   * @param phc null if there is no password to compare with: it is not right
   * @param admit asked when it is this password's turn. If it throws, nothing is hashed, and this throws the same
   */
  verify(
    password: Uint8Array,
    phc: string | null,
    client: Client,
    admit: () => Promise<void>,
  ): Promise<{ readonly isRight: boolean }>
  /** How many ms a refusal is held back on average. */
  readonly refusal: number
  /** Whether the hash was made with weaker parameters than the current ones. */
  isOutdated(phc: string): boolean
}

/** What one hash costs: memory in KiB, and the number of passes over it. */
interface HashCost {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

export interface PasswordCost extends HashCost {
  /** How many ms a refusal is held back on average: a client that asks again at once would take the time of everybody else. */
  readonly refusal: number
}

/**
 * @param queue limits how many are hashed at once
 * @param cost not a setting: only another wiring than the service's own, such as the tests', gives another cost
 * @throws Overloaded (from its methods) if too many are waiting already
 */
export function createPasswords(queue: FairQueue, { refusal, ...cost }: PasswordCost = usualCost): Passwords {
  return {
    hash: (password, client) => queue.run(client, () => hashPassword(password, cost)),
    verify: async (password, phc, client, admit) => {
      const known = phc === null ? undefined : readPhc(phc)
      const parameters = known
        ? { ...known, tagLength: known.tag.length }
        : { ...cost, salt: dummySalt, tagLength: tagBytes }
      const tag = await queue.run(client, async () => {
        await admit()
        return derive(password, parameters)
      })
      return { isRight: known !== undefined && timingSafeEqual(tag, known.tag) }
    },
    refusal,
    isOutdated: phc => {
      const known = readPhc(phc)
      return known.memory < cost.memory || known.passes < cost.passes || known.parallelism < cost.parallelism
    },
  }
}

/** By itself, for a command. The service hashes in turn. @returns a PHC string */
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

/** PHC string format (https://github.com/P-H-C/phc-string-format). */
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
