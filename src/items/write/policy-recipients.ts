import { Problem } from '../../http/problems.ts'
import { administratorGroup, type Eperson, type Group } from '../../model/accounts.ts'
import {
  epersonOf,
  epersonsIn,
  groupOf,
  groupOfOpenReader,
  openReader,
  type ReaderRule,
} from '../../model/readers.ts'
import type { People } from '../../storage/people.ts'
import type { Policy } from './policy-rules.ts'

export type KnownPeople = Pick<People, 'eperson' | 'groupsByName' | 'groupsByUuid'>

/** The kinds of recipients, with the names that parameters and addresses use. */
export const kinds = ['group', 'eperson'] as const
export type Kind = (typeof kinds)[number]
export const articles = { group: 'a group', eperson: 'an eperson' } as const satisfies Record<Kind, string>

export const kindOf = ({ reader }: ReaderRule): Kind =>
  epersonOf(reader) === undefined ? 'group' : 'eperson'

/** Finds the recipient of a rule; null if it is of the other kind, or doesn't exist any more. */
export interface Recipients {
  readonly group: (rule: ReaderRule) => Group | null
  readonly eperson: (rule: ReaderRule) => Eperson | null
}

/** Reads the groups and the epersons that policies are for. */
export async function recipientsOf(policies: readonly Policy[], people: KnownPeople): Promise<Recipients> {
  const names = new Set(policies.flatMap(({ rule }) => groupOf(rule.reader) ?? []))
  const groups = new Map((await people.groupsByName([...names])).map(one => [one.name, one]))
  const epersons = new Map<string, Eperson>()
  for (const uuid of epersonsIn(policies.map(({ rule }) => rule))) {
    const eperson = await people.eperson(uuid)
    if (eperson) epersons.set(uuid, eperson)
  }
  return {
    group: ({ reader }) => groupOfOpenReader(reader) ?? groups.get(groupOf(reader) ?? '') ?? null,
    eperson: ({ reader }) => epersons.get(epersonOf(reader) ?? '') ?? null,
  }
}

/**
 * Makes the reader of a rule.
 * @throws Problem 422 for a group that rules can't name, or an eperson that doesn't exist
 */
export async function readerOf(kind: Kind, uuid: string, people: KnownPeople): Promise<ReaderRule['reader']> {
  if (kind === 'eperson') {
    if (await people.eperson(uuid)) return `eperson:${uuid}`
    throw new Problem('change-refused', 'There is no eperson with this UUID.')
  }
  const open = openReader(uuid)
  if (open) return open
  const [group] = await people.groupsByUuid([uuid])
  if (!group) throw new Problem('change-refused', 'There is no group with this UUID.')
  if (group.name === administratorGroup)
    throw new Problem('change-refused', 'Administrators may read and change everything; no policy is needed.')
  return `group:${group.name}`
}
