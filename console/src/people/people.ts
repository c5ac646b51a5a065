import type { Schemas } from '@carrel/client'
import { useState } from 'preact/hooks'
import { service } from '../api.ts'
import { loadPage, pathOf } from '../entities.ts'
import { a } from '../i18n/admin.ts'

/** An eperson as the REST endpoints return it. */
export type Person = Schemas['Eperson']

type Metadata = Schemas['Metadata']

export const textOf = (metadata: Metadata, field: string): string => metadata[field]?.[0]?.value ?? ''

/** Returns first and last name, or the email address if both are empty. */
export const nameOf = ({ metadata, email }: Person): string =>
  `${textOf(metadata, 'eperson.firstname')} ${textOf(metadata, 'eperson.lastname')}`.trim() || email

export const people = '/api/eperson/epersons'
export const personPath = (uuid: string): string => `admin/people/${uuid}`
const addressOf = (uuid: string) => `${people}/${encodeURIComponent(uuid)}`

export const loadPerson = (uuid: string, signal: AbortSignal): Promise<Person> =>
  service.value.get<Person>(addressOf(uuid), { signal })

/** True if the person has a password here. Without one, only other ways to log in let them in. */
export async function loadHasPassword(uuid: string, signal: AbortSignal): Promise<boolean | undefined> {
  const query = JSON.stringify(['=', 'uuid', uuid])
  const asked = { query: { query }, signal }
  const found = await service.value.get<readonly { readonly has_password: boolean }[]>(
    pathOf('epersons'),
    asked,
  )
  return found[0]?.has_password
}

interface NewPerson {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly canLogIn: boolean
  /** Empty: none. */
  readonly password: string
}

/**
 * Warns of an address whose domain has no dot, which is taken for a typing error. Accounts of a local network have
 * such ones, so the second time it is meant.
 * @param known the address that the account has already
 */
export function useLocalWarning(email: string, run: () => void, known?: string) {
  const [warned, setWarned] = useState<string>()
  const isDoubtful = email !== known && warned !== email && !/@.+\../.test(email.trim())
  return {
    submit: () => (isDoubtful ? setWarned(email) : run()),
    fault: warned === email ? a('people.local', { domain: email.trim().replace(/.*@/, '') }) : undefined,
  }
}

const metadataFor = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(values).flatMap(([field, value]) => (value === '' ? [] : [[field, [{ value }]]])),
  )

export const addPerson = ({ email, firstName, lastName, canLogIn, password }: NewPerson): Promise<Person> =>
  service.value.post<Person>(people, {
    json: {
      email,
      canLogIn,
      ...(password === '' ? {} : { password }),
      metadata: metadataFor({ 'eperson.firstname': firstName, 'eperson.lastname': lastName }),
    },
  })

/** Sends only the values that changed. */
export function changePerson(
  before: Person,
  after: Omit<NewPerson, 'canLogIn' | 'password'>,
): Promise<unknown> {
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

/**
 * True if the caller may act on behalf of this person. The service may forbid it, and always does for
 * administrators.
 */
export async function mayActAs(uuid: string, signal: AbortSignal): Promise<boolean> {
  const query = { uri: service.value.address(addressOf(uuid)), feature: 'loginOnBehalfOf' }
  const { total } = await service.value
    .list('/api/authz/authorizations/search/object', { query })
    .page(0, 1, signal)
  return total > 0
}

export const deletePerson = (uuid: string): Promise<unknown> => service.value.delete(addressOf(uuid))

export type AccessToken = Schemas['AccessToken']

/** Returns the email addresses of epersons by UUID, without those that were deleted. */
export async function emailsOf(
  uuids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(uuids)]
  if (wanted.length === 0) return new Map()
  const query = JSON.stringify(['in', 'uuid', ['array', wanted]])
  const { records } = await loadPage('epersons', { query, limit: wanted.length }, signal)
  return new Map(records.map(({ uuid, email }) => [String(uuid), String(email)]))
}

export const tokensOf = (uuid: string): string => `${addressOf(uuid)}/tokens`
export const revoke = (uuid: string, id: string): Promise<unknown> =>
  service.value.delete(`${tokensOf(uuid)}/${encodeURIComponent(id)}`)

export type Access = Schemas['Access']
/** A reason for which an eperson is in a group. */
export type Reason = Access['groups'][number]['because'][number]
export type May = Schemas['Right']

/** Circumstances for which a person's access is computed. Empty members are left out of the question. */
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
