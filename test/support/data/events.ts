import assert from 'node:assert/strict'
import type { Repeats } from '../../../src/model/audit-events.ts'
import type { Client } from '../clients/client.ts'

/** One event of the audit trail as an administrator reads it. */
export interface Event {
  readonly id: number
  readonly time: string
  readonly event: string
  readonly outcome: string
  readonly eperson: string | null
  readonly actor: string | null
  readonly actor_email: string | null
  readonly client_ip: string | null
  readonly method: string | null
  readonly object: string | null
  readonly reason: string | null
  readonly count: number
  readonly changes: { readonly before: object | null; readonly after: object | null } | null
  readonly repeats: Repeats | null
  readonly request: string | null
}

/** Returns the events of this name, oldest first, without members that differ between runs. */
export async function eventsOf(
  admin: Client,
  name: string,
): Promise<
  Omit<Event, 'id' | 'time' | 'event' | 'actor_email' | 'count' | 'changes' | 'repeats' | 'request'>[]
> {
  return (await allEvents(admin))
    .filter(({ event }) => event === name)
    .map(
      ({
        id: _id,
        time: _time,
        event: _event,
        actor_email: _email,
        count: _count,
        changes: _changes,
        repeats: _repeats,
        request: _request,
        ...rest
      }) => rest,
    )
}

/** Returns the changes of the events of this name, oldest first. */
export const changesOf = async (admin: Client, name: string) =>
  (await allEvents(admin)).filter(({ event }) => event === name).map(({ changes }) => changes)

export async function allEvents(admin: Client): Promise<Event[]> {
  const response = await admin.get('/api/query/v4/audit-events')
  assert.equal(response.status, 200)
  return (await response.json()) as Event[]
}
