import type { Config } from '../config/config.ts'
import type { ChangeKind } from '../import/change-plan.ts'
import type { ReadingOptions } from '../import/reading-options.ts'
import type { Format } from '../import/source.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Entity, FieldType, ReadRule } from '../model/entities.ts'

/** What a process of its own is asked to do with the records of an entity, and what it answers (docs/decisions/0044). */
export interface Job {
  readonly config: Config
  /** For messages; its ending may tell the format. */
  readonly file: string
  readonly format: Format | null
  readonly work: Work
  readonly event: AuditEvent
}

/** `collate`: there is no file, and the records stay. */
export type Work = ImportWork | CollateWork

export interface ImportWork {
  readonly kind: 'import' | ChangeKind
  /** Nothing is changed. */
  readonly preview: boolean
  readonly name: string
  readonly key: Entity['key'] | null
  readonly read: ReadRule | null
  /** True: the import may remove any number of records and fields (docs/decisions/0058). */
  readonly replace: boolean
  readonly types: ReadonlyMap<string, FieldType>
  readonly collations: ReadonlyMap<string, string>
  readonly reading: ReadingOptions
}

export interface CollateWork {
  readonly kind: 'collate'
  readonly name: string
  readonly collations: ReadonlyMap<string, string | null>
}
