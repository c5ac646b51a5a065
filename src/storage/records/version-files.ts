import { type Client, nobody } from '../../lib/fair-queue.ts'
import { startThread } from '../../lib/threads/thread.ts'
import { indexOf } from '../columns/columns.ts'
import type { FieldHandlers } from '../columns/field-thread.ts'
import type { RecordEntity, RevisedRecords } from '../entities.ts'
import { whilePresent } from '../runtime/limits.ts'
import { markUnfinished, wordsBeside } from './field-files.ts'
import type { Turn } from './kept-facts.ts'
import type { ChangedSource } from './overlay-source.ts'
import { baseEntity } from './pending-changes.ts'

/** Writes the files of fields of a new version, as far as the one that it is made from has them. */
export const revisedFilesOf =
  ({ facts, fieldFiles, inTurn }: ChangedSource) =>
  async (
    entity: RecordEntity,
    version: string,
    changed: RevisedRecords | undefined,
    signal: AbortSignal,
  ): Promise<string> => {
    const client: Client = { ...nobody, signal: () => signal }
    markUnfinished(fieldFiles.folderOf(version))
    const thread = startThread<FieldHandlers>('storage/columns/field-thread', null)
    try {
      for (const [at, { name, type, collation }] of (changed?.fields ?? entity.fields).entries()) {
        const ref = { name, path: [], type }
        const before = entity.fields.find(one => one.name === name)
        if (before?.type !== type || before.collation !== collation) continue
        const revised = await inTurn(client, work => {
          const turn: Turn = { work, client }
          return changed ? facts.revisedBy(turn, entity, ref, changed) : facts.revised(turn, entity, ref)
        })
        if (!revised) continue
        const path = fieldFiles.pathOf({ source: { version } }, at)
        await whilePresent(client, stop => thread.call('storeRevised', path, type, revised, stop))
        const words = fieldFiles.words(baseEntity(entity), indexOf(entity, ref))
        if (words)
          await whilePresent(client, stop =>
            thread.call('storeRevisedWords', wordsBeside(path), words, type, revised, stop),
          )
      }
    } finally {
      await thread.close()
    }
    return fieldFiles.folderOf(version)
  }
