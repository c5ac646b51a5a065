import { hash, randomBytes } from 'node:crypto'
import type { Identities } from '../storage/statements/identities.ts'
import type { Clock } from '../storage/storage.ts'

/**
 * Records that every node can read by name for a limited time: single-use tickets (docs/decisions/0010), and
 * the administrator who acts on behalf of an eperson (docs/decisions/0013).
 */
export interface Tickets {
  /**
   * Keeps a record under a random name. @returns the name. The store has only its hash, so nothing else leads
   * to the record.
   */
  issue(purpose: Purpose, content: object, seconds: number): Promise<string>
  /** Keeps a record under a given name. */
  keep(purpose: Purpose, name: string, content: object, seconds: number): Promise<void>
  read<T>(purpose: Purpose, name: string): Promise<T | undefined>
  take<T>(purpose: Purpose, name: string): Promise<T | undefined>
  /** The id of a record in the store, for a transaction that uses it up. */
  idOf(purpose: Purpose, name: string): string
  /** @returns true for the first call with this name within `seconds`, false for all others */
  isFirst(purpose: Purpose, name: string, seconds: number): Promise<boolean>
}

type Purpose =
  | 'acting'
  | 'challenge'
  | 'second-factor'
  | 'must-enrol'
  | 'enrolment'
  | 'trade'
  | 'login-link'
  | 'logout'
  | 'state'
  | 'logout-request'
  | `logout-token/${string}`
  | 'registration'
  | `mail/${string}`

export function createTickets(store: Identities, { now, certain, kept, keep: keepTime }: Clock): Tickets {
  const idOf = (purpose: Purpose, name: string) => hash('sha256', `${purpose}\n${name}`, 'base64url')
  const expiry = (seconds: number) => now() + seconds * 1000
  const parse = <T>(content: string | undefined) =>
    content === undefined ? undefined : (JSON.parse(content) as T)
  const keep: Tickets['keep'] = async (purpose, name, content, seconds) => {
    await store.keepTicket(idOf(purpose, name), JSON.stringify(content), expiry(seconds), certain())
  }
  /** Keeps the time of an expired ticket, so that it stays expired if the clock is set back. */
  async function expired(id: string): Promise<undefined> {
    const time = now()
    if (kept() < time && (await store.readTicket(id, kept())) !== undefined) await keepTime(time)
  }
  return {
    idOf,
    keep,
    issue: async (purpose, content, seconds) => {
      const name = randomBytes(32).toString('base64url')
      await keep(purpose, name, content, seconds)
      return name
    },
    read: async (purpose, name) => {
      const id = idOf(purpose, name)
      return parse((await store.readTicket(id, now())) ?? (await expired(id)))
    },
    take: async (purpose, name) => {
      const id = idOf(purpose, name)
      return parse((await store.takeTicket(id, now())) ?? (await expired(id)))
    },
    isFirst: (purpose, name, seconds) =>
      store.keepTicket(idOf(purpose, name), '', expiry(seconds), certain()),
  }
}
