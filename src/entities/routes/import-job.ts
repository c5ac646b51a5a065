import type { Config } from '../../config/config.ts'
import type { Format } from '../../import/source.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Entity, ReadRule } from '../../model/entities.ts'
import type { ChangeKind } from '../change-plan.ts'
import type { ChosenRecipe } from '../recipe.ts'
import type { Reshaping } from '../reshape-fields.ts'

/** A job on the records of an entity, done by a process of its own (docs/decisions/0044). */
export interface Job {
  readonly config: Config
  /** The name in messages; its ending may tell the format. */
  readonly file: string
  readonly format: Format | null
  readonly work: Work
  readonly event: AuditEvent
}

/** `collate` has no file, and keeps the records. */
type Work = ImportWork | CollateWork | ReshapeWork

export interface ImportWork {
  readonly kind: 'import' | ChangeKind
  /** True if nothing is to be changed. */
  readonly preview: boolean
  readonly name: string
  readonly key: Entity['key'] | null
  readonly read: ReadRule | null
  /** True if the import may remove any number of records and fields (docs/decisions/0058). */
  readonly replace: boolean
  readonly chosen: ChosenRecipe
}

/** Changes the fields of an entity with its records. */
interface ReshapeWork {
  readonly kind: 'reshape'
  readonly name: string
  readonly change: Reshaping
  readonly preview: boolean
}

interface CollateWork {
  readonly kind: 'collate'
  readonly name: string
  readonly collations: ReadonlyMap<string, string | null>
}
