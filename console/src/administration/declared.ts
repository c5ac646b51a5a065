import type { Schemas } from '@carrel/client'
import type { Process } from '@carrel/client/processes'
import { CarrelProblem, service } from '../api.ts'

/** An entity with everything that an administrator can declare about it. */
export type Declared = Schemas['ListedEntity'] & Partial<Pick<Schemas['Entity'], 'suggested'>>

export type DeclaredField = Declared['fields'][number]

export type Relation = Schemas['Relation']

const all = '/api/admin/entities'
export const entitiesAddress = all
export const addressOf = (name: string): string => `${all}/${encodeURIComponent(name)}`
export const adminPath = (name: string): string => `admin/entities/${encodeURIComponent(name)}`
export const importPath = (name = ''): string =>
  name === '' ? 'admin/import' : `admin/import?entity=${encodeURIComponent(name)}`

/** An entity with the entity tag that makes a change to it conditional. */
export interface Tagged {
  readonly entity: Declared
  readonly tag: string | null
}

export async function loadDeclared(name: string, signal?: AbortSignal): Promise<Tagged> {
  const response = await service.value.request('GET', addressOf(name), { signal })
  return { entity: service.value.parse(await response.text()) as Declared, tag: response.headers.get('etag') }
}

export type Change = Partial<
  Pick<Declared, 'description' | 'read' | 'write' | 'relations' | 'defaultCondition'>
> & {
  /** Declarations of fields by name. */
  readonly fields?: Readonly<Record<string, Readonly<Record<string, unknown>> | null>>
  /** null removes it. */
  readonly recipe?: null
}

/** @throws CarrelProblem 412 if the entity was changed by another request meanwhile */
export const changeDeclared = (
  name: string,
  change: Change,
  tag: string | null,
): Promise<Pick<Schemas['Entity'], 'relations' | 'warnings'>> =>
  service.value.patch(addressOf(name), {
    body: JSON.stringify(change),
    headers: { 'content-type': 'application/merge-patch+json', ...(tag ? { 'if-match': tag } : {}) },
  })

/** Returns what is there and wouldn't fit a change of declarations. It changes nothing. */
export async function tryDeclared(
  name: string,
  change: Change,
  tag: string | null,
): Promise<readonly Misfit[]> {
  const response = await service.value.patch<unknown>(addressOf(name), {
    query: { preview: true },
    body: JSON.stringify(change),
    headers: { 'content-type': 'application/merge-patch+json', ...(tag ? { 'if-match': tag } : {}) },
  })
  return misfitsIn(response)
}

/**
 * @param collation a language tag, or null to sort by code points
 * @returns the process that rewrites the records, or undefined if nothing has to be done
 */
export async function changeCollation(
  name: string,
  field: string,
  collation: string | null,
): Promise<string | undefined> {
  const response = await service.value.patch<{ readonly processId?: string } | undefined>(addressOf(name), {
    body: JSON.stringify({ collations: { [field]: collation } }),
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  return response?.processId
}

export type FieldsChange = Schemas['FieldsChange']

/** Begins to change fields with all records, or only to find the values that can't have their new type. */
export const changeFields = (
  name: string,
  change: FieldsChange,
  tag: string | null,
  isPreview: boolean,
): Promise<Process> =>
  service.value.post<Process>(`${addressOf(name)}/fields`, {
    query: { preview: isPreview || undefined },
    body: JSON.stringify(change),
    headers: { 'content-type': 'application/json', ...(tag ? { 'if-match': tag } : {}) },
  })

export const dropEntity = (name: string): Promise<unknown> => service.value.delete(addressOf(name))

export type Version = Schemas['KeptVersion']
export const versionsAddress = (name: string): string => `${addressOf(name)}/versions`
export const restoreVersion = (name: string, id: number): Promise<unknown> =>
  service.value.post(`${versionsAddress(name)}/${id}/restore`)

/** Returns the member that the service found wrong, such as `/relations/0`. */
export const wrongMember = (problem: unknown): string | undefined =>
  problem instanceof CarrelProblem && typeof problem.members.member === 'string'
    ? problem.members.member
    : undefined

export const relationInWords = ({ fields, to }: Relation): string =>
  `${fields.join(', ')} → ${to.entity}.${to.fields.join(', ')}`

/** Records that wouldn't fit what is to be declared of a field, or its new type. */
export interface Misfit {
  readonly field: string
  /** Absent: values that can't have the new type of the field. */
  readonly constraint?: 'required' | 'oneOf' | 'unique' | 'references'
  readonly count: number
  /** The keys of the first records; for `oneOf` and `unique` the first values. */
  readonly examples: readonly string[]
  /** The values of these records, if they can't have the new type. */
  readonly values?: readonly string[]
}

/** Returns the misfits in the members of a problem, or in the result of a process; an empty list if there are none. */
export const misfitsIn = (members: unknown): readonly Misfit[] => {
  const found = (members as { readonly misfits?: unknown } | null | undefined)?.misfits
  return Array.isArray(found) ? (found as readonly Misfit[]) : []
}
