import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { Problem } from '../http/problems.ts'
import { QueueFull, type Semaphore, type Turn } from '../lib/semaphore.ts'

/**
 * Passwords: argon2id (RFC 9106) with the minimum parameters of OWASP's cheat sheet. Hashing runs in libuv's threads, never
 * on the event loop. The number of hashes at once has a limit, and so has the number of those that wait.
 */
const usualCost: PasswordCost = { memory: 19_456, passes: 2, parallelism: 1, refusal: 1_000 }
const saltBytes = 16
const tagBytes = 32

export interface Passwords {
  /** @returns a PHC string */
  hash(password: Uint8Array, turn?: Turn): Promise<string>
  /**
   * Always costs one hash, so that the time doesn't reveal whether an account exists (L5).
   * @param phc null if there is no password to compare with: it is not right
   * @param admit asked when it is this password's turn. If it throws, nothing is hashed, and this throws the same
   */
  verify<T>(
    password: Uint8Array,
    phc: string | null,
    turn: Turn,
    admit: () => Promise<T>,
  ): Promise<{ readonly isRight: boolean; readonly admission: T }>
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
 * @param semaphore limits how many are hashed at once
 * @param cost not a setting: only another wiring than the service's own, such as the tests', gives another cost
 * @throws Problem `busy` (from its methods) if too many are waiting already
 */
export function createPasswords(
  semaphore: Semaphore,
  { refusal, ...cost }: PasswordCost = usualCost,
): Passwords {
  const limited: Semaphore = async (work, turn) => {
    try {
      return await semaphore(work, turn)
    } catch (error) {
      if (!(error instanceof QueueFull)) throw error
      throw new Problem('busy', `${error.waiting} logins are waiting already. Try again in a moment.`, {
        headers: { 'retry-after': '1' },
      })
    }
  }
  return {
    hash: async (password, turn) => {
      const salt = randomBytes(saltBytes)
      const tag = await limited(() => derive(password, { ...cost, salt, tagLength: tagBytes }), turn)
      const { memory, passes, parallelism } = cost
      return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`
    },
    verify: async (password, phc, turn, admit) => {
      const known = phc === null ? undefined : readPhc(phc)
      const parameters = known
        ? { ...known, tagLength: known.tag.length }
        : { ...cost, salt: dummySalt, tagLength: tagBytes }
      const { admission, tag } = await limited(
        async () => ({ admission: await admit(), tag: await derive(password, parameters) }),
        turn,
      )
      return { isRight: known !== undefined && timingSafeEqual(tag, known.tag), admission }
    },
    refusal,
    isOutdated: phc => {
      const known = readPhc(phc)
      return known.memory < cost.memory || known.passes < cost.passes || known.parallelism < cost.parallelism
    },
  }
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
