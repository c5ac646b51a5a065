import { Problem } from '../http/problems.ts'
import { type AuditEvent, failedLogin } from '../model/audit-events.ts'
import type { Storage } from '../storage/storage.ts'

/**
 * Restricts logins: returns the same store, in which only administrators can log in while a system-wide alert
 * says so (S5, docs/decisions/0053). The check is here, because every way to log in ends here, after the
 * eperson is known: a wrong password gets its usual answer.
 */
export function restrictLogins(storage: Storage): Storage {
  const { identities, sessions, trail } = storage

  /** @throws Problem 403 unless the eperson may log in now */
  async function requireAllowed(uuid: string, event: AuditEvent): Promise<void> {
    const session = await sessions.of(uuid)
    if (sessions.allowed() === 'all' || session?.administrator) return
    await trail.record({ ...failedLogin(event), reason: 'the system-wide alert' })
    throw new Problem(
      'logins-closed',
      'Only administrators can log in at the moment. The system-wide alert says why.',
    )
  }

  return {
    ...storage,
    sessions: {
      ...sessions,
      begin: async (login, event) => {
        await requireAllowed(login.uuid, event)
        return sessions.begin(login, event)
      },
    },
    identities: {
      ...identities,
      begin: async (login, event) => {
        await requireAllowed(login.uuid, event)
        return identities.begin(login, event)
      },
    },
  }
}
