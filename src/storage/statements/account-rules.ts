import type { AuditEvent } from '../../model/audit-events.ts'
import { readReaders } from '../../model/readers.ts'
import type { GroupUse } from '../accounts.ts'

/** Recorded for each group that the configuration names and the start creates. */
export const configuredGroupEvent: AuditEvent = {
  event: 'group.add',
  outcome: 'success',
  eperson: null,
  actor: null,
  clientIp: null,
  method: null,
  object: null,
  reason: null,
}

interface Rules {
  readonly entities: readonly {
    readonly name: string
    readonly read: string
    readonly write?: string | null
  }[]
  /** Those that items or bitstreams have. */
  readonly audiences: readonly {
    readonly readers: string
    readonly items: number
    readonly bitstreams: number
  }[]
}

/** @returns where rules name the group; undefined when none does */
export function useOf(group: string, rules: Rules): GroupUse | undefined {
  const rule = `group:${group}`
  const entities = rules.entities
    .filter(({ read, write }) => read === rule || write === rule)
    .map(({ name }) => name)
  const naming = rules.audiences.filter(({ readers }) =>
    readReaders(readers).some(({ reader }) => reader === rule),
  )
  const items = naming.reduce((sum, one) => sum + one.items, 0)
  const bitstreams = naming.reduce((sum, one) => sum + one.bitstreams, 0)
  return entities.length + items + bitstreams === 0 ? undefined : { entities, items, bitstreams }
}
