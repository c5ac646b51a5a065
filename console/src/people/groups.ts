import type { Schemas } from '@carrel/client'
import { service } from '../api.ts'
import { people } from './people.ts'

export type Group = Schemas['Group']

export const groups = '/api/eperson/groups'
export const groupPath = (uuid: string): string => `admin/groups/${uuid}`
export const addressOf = (uuid: string): string => `${groups}/${encodeURIComponent(uuid)}`

/** True for the groups of everyone and of every logged-in eperson, which exist for rules only. */
export const isOpen = ({ uuid }: Group): boolean => /^0{8}-0{4}-8000-8000-0{11}[01]$/.test(uuid)

/** A rule that gives a special group. For one eperson, it contains the sessions that the rule applies to. */
export type SpecialRule = Schemas['SpecialGroupRules']['rules'][number]
export type SpecialSession = NonNullable<SpecialRule['sessions']>[number]

export const loadRules = async (signal: AbortSignal, eperson?: string): Promise<readonly SpecialRule[]> =>
  (
    await service.value.get<Schemas['SpecialGroupRules']>('/api/admin/special-groups', {
      query: { eperson },
      signal,
    })
  ).rules

export const loadGroup = (uuid: string, signal: AbortSignal): Promise<Group> =>
  service.value.get<Group>(addressOf(uuid), { signal })

export const addGroup = (name: string, description: string): Promise<Group> =>
  service.value.post<Group>(groups, {
    json: { name, metadata: description === '' ? {} : { 'dc.description': [{ value: description }] } },
  })

export const changeGroup = (uuid: string, name: string | undefined, description: string): Promise<unknown> =>
  service.value.patch(addressOf(uuid), {
    json: [
      ...(name === undefined ? [] : [{ op: 'replace', path: '/name', value: name }]),
      description === ''
        ? { op: 'remove', path: '/metadata/dc.description' }
        : { op: 'add', path: '/metadata/dc.description', value: [{ value: description }] },
    ],
  })

export const deleteGroup = (uuid: string): Promise<unknown> => service.value.delete(addressOf(uuid))

/** A kind of direct members: epersons, or other groups. */
export type Kind = 'epersons' | 'subgroups'

export const addMember = (group: string, kind: Kind, member: string): Promise<unknown> =>
  service.value.post(`${addressOf(group)}/${kind}`, {
    headers: { 'content-type': 'text/uri-list' },
    body: service.value.address(`${kind === 'epersons' ? people : groups}/${member}`),
  })

export const removeMember = (group: string, kind: Kind, member: string): Promise<unknown> =>
  service.value.delete(`${addressOf(group)}/${kind}/${member}`)
