import { randomUUID } from 'node:crypto'
import { type Hold, keepHold, type TakeLease } from '../../lib/hold.ts'
import { hasEnded, ownProcessId } from '../../lib/process-ids.ts'
import type { Clock } from '../storage.ts'
import type { Identities } from './identities.ts'

/** Separates the name of the program from the id of the lease. */
const separator = '\n'

/**
 * Leases in the store, by its clock, so that of all nodes one does a piece of work. A lease is a ticket with its
 * program: a row, unlike a lock of a session, holds behind any pooler, and outlives a connection that breaks.
 */
export const leasesOf =
  (
    {
      keepTicket,
      readTicket,
      replaceTicket,
    }: Pick<Identities, 'keepTicket' | 'readTicket' | 'replaceTicket'>,
    { now, certain }: Pick<Clock, 'now' | 'certain'>,
  ): TakeLease =>
  async (name, options) => {
    const own = `${ownProcessId()}${separator}${randomUUID()}`
    const until = () => now() + options.silence
    // One that has expired may still be there.
    const before = await readTicket(name, 0)
    if (before === undefined) {
      if (!(await keepTicket(name, own, until(), certain()))) return undefined
    } else {
      const isSilent = (await readTicket(name, now())) === undefined
      if (!isSilent && !hasEnded(before.split(separator)[0] ?? '')) return undefined
      if (!(await replaceTicket(name, before, own, until()))) return undefined
    }
    return keepHold(options, options.silence / 4, {
      beat: async () => ({ isOurs: await replaceTicket(name, own, own, until()), isWanted: false }),
      // No program has this name, so the next one needn't wait.
      remove: () => replaceTicket(name, own, '', until()),
    })
  }

/** Work that one node does for all: the audit trail's checkpoints and pruning, and what keeps the store in order. */
export type Duty = 'trail' | 'housekeeping'

/** Time in ms after which another node takes over the duty of a silent one. */
const silence = 10_000

/** Keeps one node on each duty, until it is closed or dies. */
export function createDuties(lease: TakeLease) {
  const holds = new Map<Duty, Hold>()
  const asking = new Map<Duty, Promise<boolean>>()
  async function ask(duty: Duty): Promise<boolean> {
    const held = holds.get(duty)
    if (held && (await held.isOurs())) return true
    holds.delete(duty)
    await held?.release()
    const hold = await lease(`duty ${duty}`, { silence })
    if (hold) holds.set(duty, hold)
    return hold !== undefined
  }
  return {
    /** True if the duty is this node's, and other nodes leave the work to it. */
    isOn: (duty: Duty): Promise<boolean> => {
      const answer = asking.get(duty) ?? ask(duty).finally(() => asking.delete(duty))
      asking.set(duty, answer)
      return answer
    },
    close: async (): Promise<void> => {
      for (const hold of holds.values()) await hold.release()
    },
  }
}
