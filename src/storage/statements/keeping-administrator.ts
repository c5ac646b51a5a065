import type { AuditEvent } from '../../model/audit-events.ts'
import { hasAdministrator, keepGroups, lockGroups } from './group-tree.ts'
import { type Change, rights, TakenBack } from './statements.ts'

/**
 * Takes a change back that leaves nobody who could administer the service over HTTP.
 * @param mayEnd true if the change could take the rights of an administrator
 * @param refusal its result if it is taken back
 */
export function* keepingAdministrator<T, R>(
  mayEnd: boolean,
  event: AuditEvent,
  refusal: R,
  change: Change<T>,
): Change<T | R> {
  // Of two changes at once that each leave another administrator, the later one sees the earlier one.
  yield* mayEnd ? lockGroups() : keepGroups()
  yield* rights(event, 'own')
  // Where there is none, nothing can take them away.
  const mustStay = mayEnd && (yield* hasAdministrator())
  const result = yield* change
  if (mustStay && !(yield* hasAdministrator())) throw new TakenBack(refusal)
  return result
}
