import type { Field } from '../model/entities.ts'

/** What a new version has otherwise than the one that it is made from. */
export interface RevisedRecords {
  readonly fields: readonly Field[]
  /** Edits of the records, in the order of the key; each names one of `written`. */
  readonly edits: readonly RecordEdit[]
  readonly written: readonly WrittenRecord[]
}

export interface RecordEdit {
  /** The number of the record, or of the one that it would come before. */
  readonly at: number
  readonly isThere: boolean
  /** The index of the new record among those that are written; -1: it was deleted. */
  readonly written: number
}

interface WrittenRecord {
  readonly json: string | null
  readonly record: Readonly<Record<string, unknown>> | null
}
