import { RightsChanged, StoreUnavailable } from '../../model/errors.ts'
import type { Keyring } from '../../model/keys.ts'
import type { Shared } from '../runtime/event-loops.ts'
import type { OpenedFiles } from './files-in-place.ts'
import type { changes } from './hot.ts'
import type { PartChange, WriteCall, WriterData, WriterHandlers } from './writer.ts'

/** Runs a change, by the name of its function in `changes`. The promise resolves after the change is on disk. */
export type Write = <K extends keyof typeof changes>(
  name: K,
  ...args: Tail<Parameters<(typeof changes)[K]>>
) => Promise<ReturnType<(typeof changes)[K]>>
type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never

/**
 * Sends the writer thread all changes that have queued up since its last reply. What several event loops send while it
 * commits shares the next commit.
 */
export function createGroupCommit(opened: OpenedFiles, keyring: Keyring, { threads }: Shared) {
  const start = () => {
    const data: WriterData = { opened, secrets: keyring() }
    return threads.start<WriterHandlers>('storage/sqlite/writer', 0, data)
  }
  let thread = start()
  type QueuedCall = { call: WriteCall; resolve: (result: never) => void; reject: (error: unknown) => void }
  let queue: QueuedCall[] = []
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    // Waits for one turn of the event loop, so that requests that arrived together share the commit.
    await new Promise(resolve => setImmediate(resolve))
    while (queue.length > 0) {
      const batch = queue
      queue = []
      if (thread.hasEnded) thread = start()
      try {
        const replies = await thread.call(
          'commit',
          batch.map(one => one.call),
        )
        for (const [at, { resolve, reject }] of batch.entries()) {
          const reply = replies[at]
          if (reply && 'result' in reply) resolve(reply.result as never)
          else if (reply && 'refused' in reply) reject(new RightsChanged())
          else if (reply && 'unavailable' in reply) reject(new StoreUnavailable(reply.unavailable))
          else reject(new Error(reply?.error ?? 'the writer did not reply'))
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running = undefined
  }

  let closed = false
  function send<T>(call: WriteCall): Promise<T> {
    if (closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise((resolve, reject) => {
      queue.push({ call, resolve: resolve as (result: never) => void, reject })
      running ??= run()
    })
  }
  const write: Write = (name, ...args) => send([name, args])
  return {
    write,
    /** Runs a change of a part of the storage. */
    change: (name: PartChange, args: readonly unknown[]): Promise<unknown> => send([name, args]),
    /** Rejects when nothing could be written now. */
    check: async () => {
      if (closed) throw new StoreUnavailable('the store is closed')
      if (thread.hasEnded) thread = start()
      await thread.call('check')
    },
    close: async () => {
      closed = true
      await running
      await thread.close()
    },
  }
}
