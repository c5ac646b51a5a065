import { passwordMethod } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Measures } from '../model/measures.ts'
import type { Storage } from '../storage/storage.ts'

/** The same store, with the logins counted that it records: the metrics and the audit trail say the same. */
export function countLogins(storage: Storage, measures: Measures): Storage {
  const { accounts, identities } = storage
  const count = ({ method }: AuditEvent, succeeded: boolean) =>
    succeeded
      ? measures.loginSucceeded(method ?? passwordMethod)
      : measures.loginFailed(method ?? passwordMethod)
  return {
    ...storage,
    accounts: {
      ...accounts,
      recordLogin: async (login, event) => {
        const begun = await accounts.recordLogin(login, event)
        count(event, begun !== undefined)
        return begun
      },
      recordEvent: async event => {
        await accounts.recordEvent(event)
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
