import { passwordMethod } from '../../model/accounts.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Measures } from '../../model/measures.ts'
import type { Storage } from '../../storage/storage.ts'

/**
 * Counts logins: returns the same store, which counts the logins that it records, so that the metrics agree
 * with the audit trail.
 */
export function countLogins(storage: Storage, measures: Measures): Storage {
  const { identities, sessions, trail } = storage
  const count = ({ method }: AuditEvent, succeeded: boolean) =>
    succeeded
      ? measures.loginSucceeded(method ?? passwordMethod)
      : measures.loginFailed(method ?? passwordMethod)
  return {
    ...storage,
    sessions: {
      ...sessions,
      begin: async (login, event) => {
        const begun = await sessions.begin(login, event)
        count(event, begun !== undefined)
        return begun
      },
    },
    trail: {
      ...trail,
      record: async event => {
        await trail.record(event)
        if (event.event === 'login') count(event, event.outcome === 'success')
      },
    },
    identities: {
      ...identities,
      begin: async (login, event) => {
        const begun = await identities.begin(login, event)
        count(event, begun !== undefined)
        return begun
      },
    },
  }
}
