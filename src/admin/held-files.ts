import type { Process } from '../model/processes.ts'
import type { Processes } from '../storage/processes.ts'
import type { Input } from './import-input.ts'

/** Files of imports that wait for their turn. One that is cancelled before its turn never runs, and nobody else closes its file. */
export interface HeldFiles {
  hold(id: number, input: Input): void
  /** Closes it, unless it is closed already. */
  close(id: number, used: boolean): Promise<void>
  /** Closes all, as when the service stops. */
  closeAll(): Promise<void>
}

/** In ms. */
const interval = 5_000

const isOver = (process: Process | undefined) =>
  process === undefined || (process.state !== 'scheduled' && process.state !== 'running')

export function createHeldFiles(processes: Pick<Processes, 'one'>): HeldFiles {
  const held = new Map<number, Input>()

  async function close(id: number, used: boolean): Promise<void> {
    const one = held.get(id)
    held.delete(id)
    await one?.close(used)
  }
  async function look(): Promise<void> {
    for (const id of held.keys()) if (isOver(await processes.one(id))) await close(id, false)
  }
  // What the store doesn't say now, it is asked again.
  const looking = setInterval(() => void look().catch(() => {}), interval).unref()

  return {
    hold: (id, input) => {
      held.set(id, input)
    },
    close,
    closeAll: async () => {
      clearInterval(looking)
      for (const id of held.keys()) await close(id, false)
    },
  }
}
