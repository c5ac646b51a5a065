import { lowerPriority, serveThread } from '../../lib/threads/thread.ts'
import type { FieldType } from '../../model/entities.ts'
import { limited, type Stop } from '../runtime/limits.ts'
import { isUnchanged, openChanges, type RevisedField } from './field-changes.ts'
import { storeField } from './field-writer.ts'
import { RevisedColumn, RevisedValues } from './overlay-column.ts'
import { indexWritten } from './search-texts.ts'
import { closeStored } from './stored-field.ts'
import { copyStored, mergeWords } from './word-file.ts'
import type { StoredWords } from './word-index.ts'

/** Writes the files of the fields of new versions, while other threads answer questions. */
lowerPriority(15)

const handlers = {
  /** Writes the file of a field that has the records of a changed version. One whose values are the same is copied. */
  storeRevised(path: string, type: FieldType, field: RevisedField, stop: Stop): void {
    try {
      if (isUnchanged(field)) copyStored(field.base.path, path)
      else {
        const count = openChanges(field).records.length
        const [column, values] = [new RevisedColumn(field), new RevisedValues(field)]
        limited(stop, () => storeField(path, type, column, count, values))
      }
    } finally {
      closeStored(() => false)
    }
  },

  /** @param base words of its base */
  storeRevisedWords(path: string, base: StoredWords, type: FieldType, field: RevisedField, stop: Stop): void {
    try {
      if (isUnchanged(field)) copyStored(base.path, path)
      else limited(stop, () => mergeWords(path, { base, written: indexWritten(field, type), field }))
    } finally {
      closeStored(() => false)
    }
  },
}

export type FieldHandlers = typeof handlers

serveThread(() => ({ handlers, close: () => {} }))
