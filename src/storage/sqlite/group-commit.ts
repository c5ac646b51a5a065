import { StoreUnavailable } from '../../model/errors.ts'
import { startThread } from '../shared/thread.ts'
import type { changes } from './changes.ts'
import type { WriteCall, WriterHandlers } from './writer.ts'

/** A change, by the name of a function in `changes`; the promise resolves when it is on disk. */
export type Write = <K extends keyof typeof changes>(
  name: K,
  ...args: Tail<Parameters<(typeof changes)[K]>>
) => Promise<ReturnType<(typeof changes)[K]>>
type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never

/**
 * Sends the writer thread what has gathered since its last answer, so that many changes share one commit.
 * @param beforeAnswer called when changes are on disk and nobody has been told yet
 */
export function createGroupCommit(file: string, beforeAnswer: () => void) {
  let thread = startThread<WriterHandlers>('sqlite/writer', { file })
  type Waiting = { call: WriteCall; resolve: (result: never) => void; reject: (error: unknown) => void }
  let gathered: Waiting[] = []
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    // One turn of the event loop: requests that arrived together share the commit.
    await new Promise(resolve => setImmediate(resolve))
    while (gathered.length > 0) {
      const batch = gathered
      gathered = []
      if (thread.hasEnded) thread = startThread<WriterHandlers>('sqlite/writer', { file })
      try {
        const replies = await thread.call(
          'commit',
          batch.map(one => one.call),
        )
        beforeAnswer()
        for (const [at, { resolve, reject }] of batch.entries()) {
          const reply = replies[at]
          if (reply && 'result' in reply) resolve(reply.result as never)
          else reject(new Error(reply?.error ?? 'the writer gave no answer'))
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running = undefined
  }

  let closed = false
  const write: Write = (name, ...args) => {
    if (closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise((resolve, reject) => {
      gathered.push({ call: [name, args], resolve: resolve as (result: never) => void, reject })
      running ??= run()
    })
  }
  return {
    write,
    close: async () => {
      closed = true
      await running
      await thread.close()
    },
  }
}
