import type { FastifyReply, FastifyRequest } from 'fastify'
import { processAddress, sendBegun } from '../../admin/processes/bodies.ts'
import type { Processes } from '../../admin/processes/statements.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { Problem } from '../../http/problems.ts'
import { requireCaller } from '../../http/require-caller.ts'
import { Overloaded } from '../../lib/fair-queue.ts'
import { type Process, Rivalled, type Run, type StartProcess } from '../../model/processes.ts'
import type { Input } from './import-input.ts'
import type { Job } from './import-job.ts'
import { runImport } from './import-process.ts'

/** Imports as processes whose progress can be followed (docs/decisions/0042, 0044). */
export interface Imports {
  /**
   * Called before a body is read. @throws Problem 409 while an import of the entity runs or waits, on whichever node
   */
  requireFree(name: string): Promise<void>
  /**
   * Begins an import. Takes over the file, even if it throws.
   * @param input null if the work is on the present records
   * @throws Problem 409 as `requireFree`; Overloaded if too many processes wait
   */
  begin(
    request: FastifyRequest,
    job: Job,
    input: Input | null,
    parameters: Process['parameters'],
  ): Promise<Process>
  /** Answers that a process has begun. */
  send(reply: FastifyReply, process: Process): unknown
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal
  close(): Promise<void>
}

interface Parts {
  readonly addresses: Addresses
  readonly start: StartProcess
  readonly processes: Pick<Processes, 'find' | 'one'>
}

/** Maximum number of imports found that run or wait: more than a store has. */
const maxFound = 1_000

/** The share of an import that is done at the beginning and the end of each step. */
const steps: Readonly<Record<string, readonly [from: number, to: number]>> = {
  reading: [0, 0.4],
  sorting: [0.4, 0.6],
  writing: [0.6, 1],
}

export function createImports({ addresses, start, processes }: Parts): Imports {
  const held = createHeldFiles(processes)
  const stopping = new AbortController()

  async function requireFree(name: string): Promise<void> {
    const { rows } = await processes.find(
      { kind: 'import', states: ['scheduled', 'running'], order: { by: 'id', falling: false } },
      { offset: 0, limit: maxFound },
    )
    const other = rows.find(({ parameters }) => parameters.entity === name)
    if (other) throw underWay(name, other.id)
  }

  const underWay = (name: string, id: number) =>
    new Problem(
      'entity-conflict',
      `An import of ${name} is under way: ${processAddress(addresses, id)}. Wait for its end, or cancel it.`,
      { members: { process: id } },
    )

  async function work(run: Run, job: Job, input: Input | null) {
    if (input) held.hold(run.id, input)
    let isDone = false
    try {
      const report = await runImport(job, (await input?.descriptor()) ?? null, {
        signal: run.signal,
        progress: telling(run),
        log: run.log,
      })
      isDone = true
      return report
    } finally {
      await held.close(run.id, isDone)
    }
  }

  return {
    requireFree,
    begin: async (request, job, input, parameters) => {
      let hasBegun = false
      const { uuid } = requireCaller(request.caller).session.eperson
      const { name } = job.work
      try {
        const process = await start(
          {
            kind: 'import',
            eperson: uuid,
            parameters: { entity: name, ...parameters },
            aloneIn: 'entity',
            event: eventOf(request.caller, request, {
              event: 'resumes' in parameters ? 'process.resume' : 'process.start',
              outcome: 'success',
            }),
          },
          run => {
            hasBegun = true
            return work(run, job, input)
          },
        )
        // The process waits, and may be canceled before its turn.
        if (!hasBegun && input) held.hold(process.id, input)
        return process
      } catch (error) {
        if (!hasBegun) await input?.close(false)
        throw error instanceof Rivalled ? underWay(name, error.rival) : error
      }
    },
    send: (reply, process) => sendBegun(reply, process, addresses),
    stopping: stopping.signal,
    close: async () => {
      stopping.abort(new Overloaded('The service is stopping.'))
      await held.closeAll()
    },
  }
}

/** Logs each step, and reports all of them together as one percentage. */
function telling(run: Run) {
  let last = ''
  return (step: string, share: number) => {
    if (step !== last) run.log(step)
    last = step
    const [from, to] = steps[step] ?? [0, 1]
    run.progress({ done: Math.round((from + share * (to - from)) * 100), total: 100, unit: 'percent' })
  }
}

/**
 * Files of imports that wait for their turn. An import that is canceled before its turn never runs, so its
 * file is closed here.
 */
interface HeldFiles {
  hold(id: number, input: Input): void
  /** Closes the file, unless it is closed already. */
  close(id: number, used: boolean): Promise<void>
  /** Closes all files when the service stops. */
  closeAll(): Promise<void>
}

/** Interval in ms at which canceled imports are looked for. */
const interval = 5_000

const isOver = (process: Process | undefined) =>
  process === undefined || (process.state !== 'scheduled' && process.state !== 'running')

function createHeldFiles(processes: Pick<Processes, 'one'>): HeldFiles {
  const held = new Map<number, Input>()

  async function close(id: number, used: boolean): Promise<void> {
    const one = held.get(id)
    held.delete(id)
    await one?.close(used)
  }
  async function look(): Promise<void> {
    for (const id of held.keys()) if (isOver(await processes.one(id))) await close(id, false)
  }
  // A look that fails is repeated at the next interval.
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
