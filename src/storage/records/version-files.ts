import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { StoreUnavailable } from '../../lib/errors.ts'
import { type Client, nobody } from '../../lib/fair-queue.ts'
import { startThread } from '../../lib/threads/thread.ts'
import { indexOf } from '../columns/columns.ts'
import type { FieldHandlers } from '../columns/field-thread.ts'
import type { FilesAhead, RecordEntity, RevisedRecords } from '../entities.ts'
import { whilePresent } from '../runtime/limits.ts'
import { fileName } from './facts.ts'
import type { OwnCopies } from './field-copies.ts'
import { type FieldFiles, isFieldFile, markUnfinished, wordsBeside } from './field-files.ts'
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
        const words = await fieldFiles.fetchWords(baseEntity(entity), indexOf(entity, ref), client)
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

/**
 * Maximum time in ms that a version waits for its files to be shared: short for a fold, which writers wait for; long for an
 * operator's command, whose process may end afterwards.
 */
const patience = { fold: 5_000, operator: 10 * 60_000 }

/**
 * Puts the files of a new version where all nodes find them, before it is shown.
 * @param isFold false for the work of an operator
 */
export async function shareFiles(
  fieldFiles: FieldFiles,
  copies: OwnCopies,
  {
    version,
    folder,
    isFold,
  }: { readonly version: string; readonly folder: string; readonly isFold: boolean },
): Promise<void> {
  const names = (await readdir(folder)).filter(isFieldFile)
  await copies.send(version, names, folder, isFold ? patience.fold : patience.operator)
  if (folder !== fieldFiles.folderOf(version)) fieldFiles.place(version, folder)
}

/** Number of fields whose files are brought or derived at the same time. */
const atOnce = 4

/** See `Entities.prepare`. */
export const preparing =
  (source: ChangedSource) =>
  async (entities: readonly RecordEntity[], large: number, ahead?: FilesAhead): Promise<number> => {
    if (entities.some(({ source: { count } }) => count >= large)) source.begin()
    if (!ahead) return 0
    const { signal, begun, failed } = ahead
    const fields = entities.map(baseEntity).flatMap(entity => entity.fields.map((_, at) => ({ entity, at })))
    let lacking = fields.length
    begun(lacking)
    const waiting = fields.values()
    const work = async () => {
      for (const { entity, at } of waiting) {
        if (signal.aborted) return
        try {
          await haveFiles(source, entity, at, { ...nobody, signal: () => signal })
          lacking--
        } catch (error) {
          if (!signal.aborted) failed(`${entity.name}.${entity.fields[at]?.name}`, error as Error)
        }
      }
    }
    const ended = signal.aborted ? [] : once(signal, 'abort')
    await Promise.race([Promise.all(Array.from({ length: atOnce }, work)), ended])
    return lacking
  }

/** Brings the files of a field that this node lacks, or derives them. @throws if that can't be done */
async function haveFiles(
  { facts, fieldFiles, inTurn }: ChangedSource,
  entity: RecordEntity,
  at: number,
  client: Client,
): Promise<void> {
  const { name, type } = entity.fields[at] as RecordEntity['fields'][number]
  const ref = { name, path: [], type }
  if (!(await fieldFiles.fetch(entity, at, client))) {
    const need = { ref, values: true, lookups: 0, postings: false }
    await inTurn(client, work => facts.make({ work, client }, entity, need))
    await facts.madeLater(entity, fileName(entity, ref))
  }
  const hasWords = type !== 'text' || (await fieldFiles.fetchWords(entity, at, client))
  if (!hasWords) await inTurn(client, work => facts.words({ work, client }, entity, ref))
  if (!fieldFiles.stored(entity, at) || !(hasWords || fieldFiles.words(entity, at)))
    throw new StoreUnavailable('its file can’t be written')
}
