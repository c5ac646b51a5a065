import { isDeepStrictEqual } from 'node:util'
import { agreementField, type Eperson, type GroupDetails, type Profile } from '../../model/accounts.ts'
import type { AuditEvent, Changes } from '../../model/audit-events.ts'
import type { EpersonChange } from '../people.ts'

/** What both engines decide in the same way when administrators change epersons and groups. */

export function applyChange(before: Eperson, change: EpersonChange): Eperson {
  const { profile, ...rest } = change
  const merged = Object.entries({ ...before.profile, ...profile }).filter(([, value]) => value !== null)
  return { ...before, ...rest, profile: Object.fromEntries(merged) as Profile }
}

/** Nothing has changed, so there is nothing to record. */
export const isSame = (before: Eperson | GroupDetails, after: Eperson | GroupDetails): boolean =>
  isDeepStrictEqual(before, after)

/** @param accepted how many epersons had accepted the end user agreement */
export const resetEvent = (event: AuditEvent, accepted: number): AuditEvent => ({
  ...event,
  object: agreementField,
  changes: { before: { epersons: accepted }, after: { epersons: 0 } },
})

/** The event of a change, with what it has changed, by the names that the answers of the API have. */
export function epersonEvent(event: AuditEvent, before: Eperson | null, after: Eperson | null): AuditEvent {
  const eperson = (after ?? before)?.uuid ?? null
  const isSwitched = before !== null && after !== null && before.enabled !== after.enabled
  const name = isSwitched ? (after.enabled ? 'eperson.enable' : 'eperson.disable') : event.event
  return { ...event, event: name, eperson, changes: changesOf(before && told(before), after && told(after)) }
}

export const groupEvent = (
  event: AuditEvent,
  before: GroupDetails | null,
  after: GroupDetails | null,
): AuditEvent => ({
  ...event,
  object: (before ?? after)?.name ?? null,
  changes: changesOf(before && toldOfGroup(before), after && toldOfGroup(after)),
})

const told = ({ email, enabled, firstName, lastName, profile }: Eperson) => ({
  email,
  canLogIn: enabled,
  'eperson.firstname': firstName,
  'eperson.lastname': lastName,
  ...profile,
})
const toldOfGroup = ({ name, description }: GroupDetails) => ({ name, 'dc.description': description })

type Told = Readonly<Record<string, unknown>>

/** Only the members that differ; what is null on one side and missing on the other doesn't. */
function changesOf(before: Told | null, after: Told | null): Changes {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const differing = names.filter(name => (before?.[name] ?? null) !== (after?.[name] ?? null))
  const pick = (side: Told | null) =>
    side && Object.fromEntries(differing.map(name => [name, side[name] ?? null]))
  return { before: pick(before), after: pick(after) }
}

/** An event about a group in a group. */
export const subgroupEvent = (event: AuditEvent, parent: string, child: string): AuditEvent => {
  const isAdded = event.event === 'group.include'
  return {
    ...event,
    object: parent,
    changes: { before: isAdded ? null : { subgroup: child }, after: isAdded ? { subgroup: child } : null },
  }
}
