import type { AuditEvent } from '../../model/audit-events.ts'

/** Events of one session and kind that have the same object and network. */
export interface CountedObject {
  readonly object: string | null
  readonly clientIp: string | null
  /** Number of events since the last row. */
  count: number
  /** Times of the first and the last of them, in ms since 1970. */
  first: number
  last: number
}

/** The event that says how many there were, and of what. */
export function eventOfCounts(
  { request: _, ...event }: AuditEvent,
  counted: readonly CountedObject[],
): AuditEvent {
  const [one] = counted
  if (!one) throw new Error('nothing was counted')
  const objects = numbersOf(counted, ({ object }) => object)
  const networks = numbersOf(counted, ({ clientIp }) => clientIp)
  const times = {
    first: Math.min(...counted.map(item => item.first)),
    last: Math.max(...counted.map(item => item.last)),
  }
  return {
    ...event,
    object: objects ? null : one.object,
    clientIp: networks ? null : one.clientIp,
    count: counted.reduce((sum, item) => sum + item.count, 0),
    repeats: {
      first: new Date(times.first).toISOString(),
      last: new Date(times.last).toISOString(),
      ...(objects && { objects }),
      ...(networks && { networks }),
    },
  }
}

/** @returns the number of events by name; undefined if all have the same one */
function numbersOf(
  counted: readonly CountedObject[],
  nameOf: (item: CountedObject) => string | null,
): Record<string, number> | undefined {
  const numbers = new Map<string | null, number>()
  for (const item of counted) numbers.set(nameOf(item), (numbers.get(nameOf(item)) ?? 0) + item.count)
  return numbers.size > 1
    ? Object.fromEntries([...numbers].map(([name, number]) => [name ?? 'unknown', number]))
    : undefined
}
