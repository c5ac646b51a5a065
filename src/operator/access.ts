import { type Caller, isAdministrator } from '../model/caller.ts'
import type { Entity } from '../model/entities.ts'
import { admits, admitsWriter, describeReaders, type Readers, today } from '../model/readers.ts'
import { viewerOf } from '../model/viewer.ts'
import { mayReadEntity, mayWriteEntity } from '../query/readable.ts'

/**
 * What somebody may do and why, decided by the functions that decide it for their requests. Only the reason is looked for
 * here.
 */
export interface May {
  readonly may: boolean
  /** The rule that lets them: `administrator`, or a rule as a person writes it; null: none does. */
  readonly because: string | null
}

const administrator = 'administrator'

function may(is: boolean, because: () => string | null): May {
  return { may: is, because: is ? because() : null }
}

export const mayOfEntity = (caller: Caller, entity: Entity) => ({
  name: entity.name,
  read: may(mayReadEntity(caller, entity), () => reasonOf(caller, entity.read)),
  write: may(mayWriteEntity(caller, entity), () => reasonOf(caller, entity.write ?? null)),
})

const reasonOf = (caller: Caller, rule: string | null) =>
  rule !== 'anonymous' && isAdministrator(caller) ? administrator : rule

export function mayReadBy(caller: Caller, readers: Readers): May {
  const viewer = viewerOf(caller)
  const day = today()
  return may(admits(readers, viewer, day), () =>
    viewer.kind === 'administrator' ? administrator : said(readers.find(rule => admits([rule], viewer, day))),
  )
}

export function mayWriteBy(caller: Caller, readers: Readers): May {
  const viewer = viewerOf(caller)
  const day = today()
  return may(admitsWriter(readers, viewer, day), () =>
    viewer.kind === 'administrator'
      ? administrator
      : said(readers.find(rule => admitsWriter([rule], viewer, day))),
  )
}

const said = (rule: Readers[number] | undefined) => (rule ? describeReaders([rule]) : null)
