import { RightsChanged, StoreUnavailable } from '../../model/errors.ts'
import type { Keyring } from '../../model/keys.ts'
import { inBatches } from '../runtime/batches.ts'
import type { Shared } from '../runtime/event-loops.ts'
import type { OpenedFiles } from './files-in-place.ts'
import type { changes } from './hot.ts'
import type { PartChange, WriteCall, WriteReply, WriterData, WriterHandlers } from './writer.ts'

/**
 * Runs a change, by the name of its function in `changes`. The promise resolves after the change is on disk.
 */
export type Write = <K extends keyof typeof changes>(
  name: K,
  ...args: Tail<Parameters<(typeof changes)[K]>>
) => Promise<ReturnType<(typeof changes)[K]>>
type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never

/**
 * Sends the writer thread all changes that have queued up since its last reply. Changes that several event
 * loops send during a commit share the next one.
 */
export function createGroupCommit(opened: OpenedFiles, keyring: Keyring, { threads }: Shared) {
  const start = () => {
    const data: WriterData = { opened, secrets: keyring() }
    return threads.start<WriterHandlers>('storage/sqlite/writer', 0, data)
  }
  let thread = start()
  let isClosed = false
  const { send, close } = inBatches(async (calls: readonly WriteCall[]) => {
    if (thread.hasEnded) thread = start()
    const replies = await thread.call('commit', calls)
    return calls.map((_, at) => resultOf(replies[at]))
  })
  const write: Write = (name, ...args) => send([name, args])
  return {
    write,
    /** Runs a change of a part of the storage. */
    change: (name: PartChange, args: readonly unknown[]): Promise<unknown> => send([name, args]),
    /** Rejects if nothing can be written now. */
    check: async () => {
      if (isClosed) throw new StoreUnavailable('the store is closed')
      if (thread.hasEnded) thread = start()
      await thread.call('check')
    },
    close: async () => {
      isClosed = true
      await close()
      await thread.close()
    },
  }
}

function resultOf(reply: WriteReply | undefined): unknown {
  if (reply && 'result' in reply) return reply.result
  if (reply && 'refused' in reply) return new RightsChanged()
  if (reply && 'unavailable' in reply) return new StoreUnavailable(reply.unavailable)
  return new Error(reply?.error ?? 'the writer did not reply')
}
