import type { Store } from '../features.ts'
import type { Hold } from '../lib/hold.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { commandEvent } from './store.ts'

/** Tells the events of the demo from those of other commands. */
const reason = 'demo'

/** Makes the audit event of a change that adds the demo. */
export const demoEvent = (event: AuditEvent['event']): AuditEvent => ({ ...commandEvent(event), reason })

/**
 * True if anything but the demo was ever changed in the store, or if it has forgotten some of its events. What was
 * refused has changed nothing.
 */
export const wasUsed = ({ trail }: Pick<Store, 'trail'>): Promise<boolean> =>
  trail.read(async ({ checkpoints, events }) => {
    for await (const { kind } of checkpoints()) if (kind === 'prune') return true
    for await (const event of events({ since: null, until: null })) {
      // The reason alone proves nothing: administrators who act on behalf of others choose theirs.
      const isOfDemo = event.reason === reason && event.actor === null && event.method === null
      if (event.outcome === 'success' && !isOfDemo) return true
    }
    return false
  })

/** Time in ms after which a silent process counts as ended, if it was on another machine. */
const silence = 60_000

/**
 * Claims the demo for this process: two that add it would replace each other's passwords.
 * @returns undefined if another process has claimed it and may be alive
 */
export const claimDemo = ({ lease }: Pick<Store, 'lease'>): Promise<Hold | undefined> =>
  lease('demo', { silence })
