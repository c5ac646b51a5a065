import { setPriority } from 'node:os'
import { type FromWorker, fileDescriptor, type Job, type ToWorker } from '../admin/import-job.ts'
import { type ImportReport, importFile, type Progress } from '../import/import-entity.ts'
import { preview } from '../import/preview.ts'
import { recollate } from '../import/recollate.ts'
import { reviseFile } from '../import/revise-entity.ts'
import { OperatorError, StoreUnavailable } from '../model/errors.ts'
import type { Entities } from '../storage/entities.ts'
import { openStore } from './store.ts'

/**
 * An import that was asked for over HTTP, in a process of its own beside the service, as `carrel import` is one
 * (docs/decisions/0044). It is told what to do over the channel to the service, and ends with it.
 */

/** So far below the service that answers requests, and not further: an import is waited for. */
const niceness = 5
/** In ms, between two reports of progress. */
const reportInterval = 250

const interruption = new AbortController()
const cancel = () => interruption.abort(new Cancelled())

class Cancelled extends Error {}

const say = (message: FromWorker) => process.send?.(message)

/** The last step is always told. */
function reporting(): Progress {
  let last = 0
  return (step, share) => {
    const now = performance.now()
    if (share < 1 && now - last < reportInterval) return
    last = now
    say({ kind: 'progress', step, share })
  }
}

async function work(
  { file, format, work: asked, event }: Job,
  entities: Entities,
): Promise<Readonly<Record<string, unknown>>> {
  const { signal } = interruption
  const progress = reporting()
  const { name } = asked
  const report = (done: object) => ({ ...done })
  if (asked.kind === 'collate')
    return report(
      withoutMix(await recollate(entities, { name, collations: asked.collations, event, signal }, progress)),
    )
  const input = { name: file, descriptor: fileDescriptor, ...(format && { format }) }
  const { kind, key, read, types, collations } = asked
  if (asked.preview) {
    const change = kind === 'import' ? {} : { kind }
    return report(
      await preview(
        input,
        entities,
        { name, key: key ?? [], types, collations, ...change, signal },
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
          { name, key: key ?? [], read, types, collations, event, signal },
          progress,
        ),
      ),
    )
  return report(
    await reviseFile(input, entities, { name, kind, ...(key && { key }), read, event, signal }, progress),
  )
}

/** A process keeps little of its result: fields are read at the entity. */
const withoutMix = ({ fields, ...rest }: ImportReport) => ({ ...rest, fields: fields.length })

async function run(job: Job): Promise<FromWorker> {
  try {
    const storage = await openStore(job.config, { create: false })
    try {
      return { kind: 'done', report: JSON.stringify(await work(job, storage.entities)) }
    } finally {
      await storage.close()
    }
  } catch (error) {
    if (interruption.signal.aborted) return { kind: 'cancelled' }
    if (error instanceof StoreUnavailable) return { kind: 'unavailable', message: error.message }
    if (error instanceof OperatorError) return { kind: 'refused', message: error.message }
    return {
      kind: 'failed',
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }
  }
}

process.on('message', (message: ToWorker) => {
  if ('cancel' in message) cancel()
  else
    void run(message.job).then(outcome => {
      // The channel keeps the process alive until the outcome has been sent.
      process.send?.(outcome, undefined, undefined, () => process.disconnect?.())
    })
})
process.on('disconnect', cancel)
// The service is told to stop, and tells this process.
process.on('SIGINT', () => {}).on('SIGTERM', () => {})
try {
  setPriority(niceness)
} catch {
  // Some containers forbid it: slower for others under load, but correct.
}
