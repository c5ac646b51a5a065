import { blob, integer, key, nullable, ownedBy, table, text, unique, withDefault } from './table.ts'

export const eperson = table('eperson', {
  columns: {
    uuid: key(text),
    email: text,
    email_key: unique(text),
    first_name: nullable(text),
    last_name: nullable(text),
    // The name in lower case, to search in.
    name_key: text,
    enabled: integer,
    // Metadata fields with a text each, as JSON, which the eperson or an administrator adds to the name.
    profile: nullable(text),
    password_hash: nullable(text),
    // Grows when the password changes, not when its hash is renewed.
    password_stamp: integer,
    session_key: blob,
    // Sessions that were ended by themselves, and the one that outlived the session key, as JSON (src/model/sessions.ts).
    session_state: nullable(text),
    stamp: integer,
    // The beginning of the newest session, in ms since 1970.
    last_begun: withDefault(integer, 0),
    created: text,
    last_login: nullable(text),
  },
  indexes: { eperson_search: '(email_key, name_key, uuid)' },
  backup: 'rows',
})

export const epersongroup = table('epersongroup', {
  columns: {
    uuid: key(text),
    name: unique(text),
    name_key: text,
    description: nullable(text),
    // 1 if a token may have it as a special group (docs/decisions/0039).
    special: integer,
    created: text,
  },
  startsFilled: true,
  backup: 'rows',
})

/** Groups in groups: members of the child are members of the parent. */
export const subgroup = table('subgroup', {
  columns: { parent: key(ownedBy(text, 'epersongroup')), child: key(ownedBy(text, 'epersongroup')) },
  withoutRowid: true,
  indexes: { subgroup_of_child: '(child)' },
  backup: 'rows',
})

export const membership = table('membership', {
  columns: { eperson: key(ownedBy(text, 'eperson')), epersongroup: key(ownedBy(text, 'epersongroup')) },
  withoutRowid: true,
  indexes: { membership_of_group: '(epersongroup)' },
  backup: 'rows',
})

export const peopleTables = [eperson, epersongroup, subgroup, membership]
