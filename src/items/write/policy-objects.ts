import { Problem } from '../../http/problems.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { maxReadersBytes } from '../../model/items.ts'
import { type Readers, readersText, readRules, writeRules } from '../../model/readers.ts'
import type { Repository } from '../../storage/repository.ts'
import { refuseOutcome, retryStale } from './outcomes.ts'
import { notesOf, type Policy, policiesOf, ruleText } from './policy-rules.ts'

/** An object with policies: an item or a file. */
export interface EditedObject {
  readonly uuid: string
  readonly isItem: boolean
  /** Readers as they are in the store. */
  readonly readers: Readers
  readonly policies: readonly Policy[]
}

export interface PolicyStore {
  readonly repository: Pick<Repository, 'item' | 'bitstream' | 'policyNotes' | 'change'>
}

export async function findObject(
  { repository }: PolicyStore,
  uuid: string,
): Promise<EditedObject | undefined> {
  const item = await repository.item(uuid)
  const readers = (item ?? (await repository.bitstream(uuid)))?.readers
  if (!readers) return undefined
  // Files have the right to write from their item, so no policy of the file gives it.
  const rules = [...readRules(readers), ...(item ? writeRules(readers) : [])]
  const policies = policiesOf(uuid, rules, await repository.policyNotes(uuid))
  return { uuid, isItem: item !== undefined, readers, policies }
}

/**
 * Gives an object other policies, and begins again if another change came first.
 * @throws Problem 404 or 422
 */
export async function editPolicies(
  store: PolicyStore,
  uuid: string,
  event: AuditEvent,
  next: (object: EditedObject) => readonly Policy[],
): Promise<void> {
  const outcome = await retryStale(async () => {
    const object = await findObject(store, uuid)
    if (!object) throw new Problem('not-found', 'There is no item and no file with this UUID.')
    const policies = next(object)
    const rules = policies.map(({ rule }) => rule)
    if (new Set(rules.map(ruleText)).size < rules.length)
      throw new Problem('change-refused', 'There is such a policy already.')
    if (Buffer.byteLength(readersText(rules)) > maxReadersBytes)
      throw new Problem(
        'change-refused',
        `The policies take more than ${maxReadersBytes} bytes; put the readers into one group.`,
      )
    return store.repository.change(
      { kind: 'set-policies', object: uuid, seen: object.readers, rules, notes: notesOf(policies) },
      event,
    )
  })
  refuseOutcome(outcome, 'policy')
}
