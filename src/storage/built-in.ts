import type { AuditEvent, Entity, Field, FieldType } from './storage.ts'

/**
 * The entities that are always there (Q13). Each is a view of the store of the same name whose columns are the
 * fields: what is not listed here is not shown. `!` in front of a type: never null.
 */
const table = (name: string, key: string, fields: Record<string, FieldType | `!${FieldType}`>): Entity => ({
  name,
  key,
  read: 'admin',
  fields: Object.entries(fields).map(
    ([field, type]): Field => ({
      name: field,
      type: type.replace('!', '') as FieldType,
      nullable: !type.startsWith('!'),
    }),
  ),
  source: { kind: 'table', table: name },
})

export const builtInEntities: readonly Entity[] = [
  table('epersons', 'uuid', {
    uuid: '!text',
    email: '!text',
    first_name: 'text',
    last_name: 'text',
    enabled: '!boolean',
    has_password: '!boolean',
    groups: '!json',
    created: '!date-time',
    last_login: 'date-time',
  }),
  table('groups', 'uuid', {
    uuid: '!text',
    name: '!text',
    members: '!integer',
    created: '!date-time',
  }),
  table('events', 'id', {
    id: '!integer',
    time: '!date-time',
    event: '!text',
    outcome: '!text',
    eperson: 'text',
    actor: 'text',
    client_ip: 'text',
    method: 'text',
    reason: 'text',
  }),
]

/** Names that an import can't take. */
export const reservedEntities: ReadonlySet<string> = new Set([
  ...builtInEntities.map(entity => entity.name),
  'items',
  'bitstreams',
])

/** E-mail addresses are compared without regard to case (L2). */
export const emailKey = (email: string) => email.toLowerCase()

/** Groups that the configuration names come into being at the start. */
export const configuredGroupEvent: AuditEvent = {
  event: 'group.add',
  outcome: 'success',
  eperson: null,
  actor: null,
  clientIp: null,
  method: null,
  reason: null,
}
