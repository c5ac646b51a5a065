import { service } from '../../api.ts'

/** People and what is done about them: the calls of these pages. */
export interface Person {
  readonly uuid: string
  readonly email: string
  readonly canLogIn: boolean
  readonly metadata: Metadata
}

export type Metadata = Readonly<Record<string, readonly { readonly value: string }[]>>

export const textOf = (metadata: Metadata, field: string): string => metadata[field]?.[0]?.value ?? ''

/** Both names, or the address where there is none. */
export const nameOf = ({ metadata, email }: Person): string =>
  `${textOf(metadata, 'eperson.firstname')} ${textOf(metadata, 'eperson.lastname')}`.trim() || email

export const people = '/api/eperson/epersons'
export const personPath = (uuid: string): string => `admin/people/${uuid}`
const addressOf = (uuid: string) => `${people}/${encodeURIComponent(uuid)}`

export const loadPerson = (uuid: string, signal: AbortSignal): Promise<Person> =>
  service.value.get<Person>(addressOf(uuid), { signal })

export interface NewPerson {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly canLogIn: boolean
}

const metadataFor = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([field, value]) => (value === '' ? [] : [[field, [{ value }]]])),
  )

export const addPerson = ({ email, firstName, lastName, canLogIn }: NewPerson): Promise<Person> =>
  service.value.post<Person>(people, {
    json: {
      email,
      canLogIn,
      metadata: metadataFor({ 'eperson.firstname': firstName, 'eperson.lastname': lastName }),
    },
  })

/** Only what is another than before is sent. */
export function changePerson(before: Person, after: Omit<NewPerson, 'canLogIn'>): Promise<unknown> {
  const fields = { 'eperson.firstname': after.firstName, 'eperson.lastname': after.lastName }
  const operations: object[] = Object.entries(fields).flatMap(([field, value]) => {
    const known = textOf(before.metadata, field)
    if (known === value) return []
    const path = `/metadata/${field}`
    if (value === '') return [{ op: 'remove', path }]
    return [{ op: known === '' ? 'add' : 'replace', path, value: [{ value }] }]
  })
  if (after.email !== before.email) operations.push({ op: 'replace', path: '/email', value: after.email })
  return operations.length === 0 ? Promise.resolve() : patch(before.uuid, operations)
}

const patch = (uuid: string, operations: readonly object[]) =>
  service.value.patch(addressOf(uuid), { json: operations })

export const letLogIn = (uuid: string, can: boolean): Promise<unknown> =>
  patch(uuid, [{ op: 'replace', path: '/canLogIn', value: can }])

export const setPassword = (uuid: string, password: string): Promise<unknown> =>
  patch(uuid, [{ op: 'add', path: '/password', value: { new_password: password } }])

export const logOutEverywhere = (uuid: string): Promise<unknown> =>
  service.value.delete(`${addressOf(uuid)}/sessions`)

export const deletePerson = (uuid: string): Promise<unknown> => service.value.delete(addressOf(uuid))

export interface AccessToken {
  readonly id: string
  readonly name: string
  readonly expires: string
  readonly lastUsed: string | null
}

export const tokensOf = (uuid: string): string => `${addressOf(uuid)}/tokens`
export const revoke = (uuid: string, id: string): Promise<unknown> =>
  service.value.delete(`${tokensOf(uuid)}/${encodeURIComponent(id)}`)

/** Why somebody is in a group. */
export type Reason =
  | { readonly how: 'member' }
  | { readonly how: 'group'; readonly group: string }
  | { readonly how: 'address'; readonly ranges: readonly string[] }
  | { readonly how: 'method'; readonly method: string }

export interface May {
  readonly may: boolean
  readonly because: string | null
}

export interface Access {
  readonly administrator: boolean
  readonly groups: readonly {
    readonly uuid: string
    readonly name: string
    readonly because: readonly Reason[]
  }[]
  readonly groupsTotal: number
  readonly entities: readonly { readonly name: string; readonly read: May; readonly write: May }[]
  readonly entitiesTotal: number
  readonly items: number
  readonly files: number
  readonly object?: { readonly uuid: string; readonly type: string; readonly read: May; readonly write: May }
  readonly record?: {
    readonly entity: string
    readonly key?: string
    readonly read: May
    readonly write: May
  }
}

/** What somebody would see who comes this way. Empty texts ask nothing. */
export interface Asked {
  readonly address: string
  readonly method: string
  readonly object: string
  readonly entity: string
  readonly key: string
}

export const noQuestion: Asked = { address: '', method: '', object: '', entity: '', key: '' }

export const loadAccess = (uuid: string, asked: Asked, signal: AbortSignal): Promise<Access> =>
  service.value.get<Access>(`/api/admin/epersons/${encodeURIComponent(uuid)}/access`, {
    query: Object.fromEntries(
      Object.entries(asked).map(([name, value]) => [name, value.trim() || undefined]),
    ),
    signal,
  })
