import type { Store } from '../features.ts'
import { announce } from './output.ts'

/** Time in ms after which a node is ready even if it lacks files. */
const patience = 10 * 60_000

/**
 * Fetches or derives the files of all fields (docs/decisions/0091), as far as that can be done in time.
 * @param large as of `prepare`
 * @param stopped ends it
 */
export async function warm({ entities }: Store, large: number, stopped: AbortSignal): Promise<void> {
  const from = performance.now()
  let fields = 0
  const begun = (number: number) => {
    fields = number
    announce('info', `Fetching or deriving the files of ${fields} fields.`, { fields, msg: 'warming' })
  }
  const failed = (of: string, { message }: Error) =>
    announce('warn', `The files of ${of} can't be had: ${message}.`, { of, message, msg: 'no files' })
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(patience)])
  try {
    const lacking = await entities.prepare(large, { signal, begun, failed })
    if (stopped.aborted) return
    const ms = Math.round(performance.now() - from)
    const sentence = `After ${(ms / 1000).toFixed(1)} s, ${lacking} of ${fields} fields lack files.`
    announce(lacking === 0 ? 'info' : 'warn', sentence, { lacking, fields, ms, msg: 'warm' })
  } catch (error) {
    if (!stopped.aborted) failed('all fields', error as Error)
  }
}
