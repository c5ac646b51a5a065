import assert from 'node:assert/strict'
import type { Client } from '../clients/client.ts'

/** One line of the audit trail as an administrator reads it. */
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
}

/** The events of this name, oldest first, without what differs from run to run. */
export async function eventsOf(
  admin: Client,
  name: string,
): Promise<Omit<Event, 'id' | 'time' | 'event' | 'actor_email' | 'count'>[]> {
  const response = await admin.get('/api/query/v4/audit-events')
  assert.equal(response.status, 200)
  const all = (await response.json()) as Event[]
  return all
    .filter(({ event }) => event === name)
    .map(({ id: _id, time: _time, event: _event, actor_email: _email, count: _count, ...rest }) => rest)
}
