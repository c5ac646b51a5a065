import type { Entity, Field, FieldType, ReadRule, Relation, RowRule } from './entities.ts'

type FieldSpec = FieldType | `!${FieldType}` | '!texts'

/**
 * Defines a built-in entity (Q13), which reads a view. The view's columns are the fields: a column that is
 * not listed here is not shown. A type that starts with `!` is never null; `!texts` is a list of texts.
 */
const table = (
  name: string,
  key: string,
  [read, rows]: readonly [ReadRule, RowRule],
  fields: Readonly<Record<string, FieldSpec>>,
  { view = name, ...more }: { readonly view?: string; readonly relations?: readonly Relation[] } = {},
): Entity => ({
  name,
  key,
  read,
  fields: Object.entries(fields).map(
    ([field, type]): Field =>
      type === '!texts'
        ? { name: field, type: 'json', nullable: false, list: true }
        : { name: field, type: type.replace('!', '') as FieldType, nullable: !type.startsWith('!') },
  ),
  source: { kind: 'table', table: view, rows },
  ...more,
})

export const builtInEntities: readonly Entity[] = [
  table('epersons', 'uuid', ['admin', 'all'], {
    uuid: '!text',
    email: '!text',
    first_name: 'text',
    last_name: 'text',
    enabled: '!boolean',
    has_password: '!boolean',
    groups: '!texts',
    created: '!date-time',
    last_login: 'date-time',
  }),
  table('groups', 'uuid', ['admin', 'all'], {
    uuid: '!text',
    name: '!text',
    description: 'text',
    members: '!integer',
    subgroups: '!integer',
    created: '!date-time',
  }),
  // Epersons see who acted on their behalf, when and why (B4).
  table(
    'audit-events',
    'id',
    ['eperson', 'own'],
    {
      id: '!integer',
      time: '!date-time',
      event: '!text',
      outcome: '!text',
      eperson: 'text',
      actor: 'text',
      actor_email: 'text',
      client_ip: 'text',
      method: 'text',
      object: 'text',
      reason: 'text',
      count: '!integer',
      changes: 'json',
      repeats: 'json',
      request: 'text',
    },
    {
      view: 'events',
      relations: [{ fields: ['eperson'], to: { entity: 'epersons', fields: ['uuid'] } }],
    },
  ),
  table('items', 'uuid', ['anonymous', 'audience'], {
    uuid: '!text',
    identifier: '!text',
    title: 'text',
    authors: '!texts',
    issued: 'text',
    type: 'text',
    metadata: '!json',
    collections: '!texts',
    // Null unless the viewer is an administrator: group names are not public.
    readers: 'json',
    created: '!date-time',
    modified: '!date-time',
    withdrawn: '!boolean',
    discoverable: '!boolean',
  }),
  table(
    'bitstreams',
    'uuid',
    ['anonymous', 'audience'],
    {
      uuid: '!text',
      item: '!text',
      bundle: '!text',
      name: '!text',
      description: 'text',
      mime_type: '!text',
      size: '!integer',
      sha256: '!text',
      readers: 'json',
      created: '!date-time',
    },
    { relations: [{ fields: ['item'], to: { entity: 'items', fields: ['uuid'] } }] },
  ),
]

/** Names that imported entities can't have. */
export const reservedEntities: ReadonlySet<string> = new Set(builtInEntities.map(entity => entity.name))
