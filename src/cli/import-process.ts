import { type ImportReport, importFile } from '../entities/import-entity.ts'
import { lossInWords } from '../entities/loss.ts'
import { preview } from '../entities/preview.ts'
import { keptBy, optionsOf } from '../entities/recipe.ts'
import { reshape } from '../entities/reshape-fields.ts'
import { recollate, reviseFile } from '../entities/revision.ts'
import type { Job } from '../entities/routes/import-job.ts'
import { type Note, noteInWords } from '../import/notes.ts'
import { fileDescriptor, type Report, type Running } from '../lib/threads/child.ts'
import type { Entities } from '../storage/entities.ts'
import { serveChild } from './serve-child.ts'
import { withStoreOf } from './store.ts'

/**
 * An import over HTTP, in a process of its own beside the service, like that of `carrel import`
 * (docs/decisions/0044). It gets its job over the channel to the service, and ends with it.
 */

async function work(
  { file, format, work: asked, event }: Job,
  entities: Entities,
  { signal, progress, log }: Running,
): Promise<Report> {
  const { name } = asked
  const report = (done: object & { readonly notes?: readonly Note[] }) => {
    for (const note of done.notes ?? []) log?.(noteInWords(note))
    return { ...done }
  }
  if (asked.kind === 'collate')
    return report(
      withoutMix(await recollate(entities, { name, collations: asked.collations, event, signal }, progress)),
    )
  if (asked.kind === 'reshape')
    return report(
      await reshape(
        entities,
        { name, change: asked.change, isPreview: asked.preview, event, signal },
        progress,
      ),
    )
  const input = { name: file, descriptor: fileDescriptor, ...(format && { format }) }
  const { kind, key, read, replace, chosen } = asked
  const { types, collations, reading } = optionsOf(chosen)
  if (asked.preview) {
    const change = kind === 'import' ? {} : { kind }
    return report(
      await preview(
        input,
        entities,
        { name, key: key ?? [], types, collations, reading, ...change, signal },
        progress,
      ),
    )
  }
  if (kind === 'import')
    return report(
      withoutMix(
        await importFile(
          input,
          entities,
          {
            name,
            key: key ?? [],
            read,
            replace,
            types,
            collations,
            reading,
            event,
            signal,
            ...keptBy(chosen),
            losing: loss => log?.(`${lossInWords(name, loss)}.`),
          },
          progress,
        ),
      ),
    )
  return report(
    await reviseFile(
      input,
      entities,
      { name, kind, ...(key && { key }), read, reading, event, signal },
      progress,
    ),
  )
}

/** Shortens a report for the list of processes, because fields can be read at the entity. */
const withoutMix = ({ fields, loss, differences, ...rest }: ImportReport) => ({
  ...rest,
  fields: fields.length,
  ...(loss && { gone: loss.records.gone, goneFields: loss.fields.gone.length }),
  ...differences?.counts,
})

serveChild<Job>((job, running) => withStoreOf(job.config, storage => work(job, storage.entities, running)))
