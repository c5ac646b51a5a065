import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../http/problems.ts'
import { Interrupted, OperatorError, StoreUnavailable } from '../../lib/errors.ts'
import { Overloaded } from '../../lib/fair-queue.ts'
import { ownProcessId } from '../../lib/process-ids.ts'
import {
  type EndState,
  type NewProcess,
  type Process,
  type Progress,
  Rivalled,
  type Run,
  type StartProcess,
} from '../../model/processes.ts'
import { createUnkept } from './log.ts'
import type { Ending, Place, Processes } from './statements.ts'

/** Runs long work as processes that can be followed (docs/decisions/0042). */
interface Runner {
  readonly start: StartProcess
  /**
   * Starts a process and waits until it has ended; errors of the work are passed on. If the store can't take
   * the process, for example on a full disk, the work is done without one.
   * @param resultOf returns the part of the outcome that the list shows
   */
  follow<T>(process: NewProcess, work: Work<T>, resultOf: (value: T) => Process['result']): Promise<T>
  /** Interrupts all running processes, and waits until that is kept. */
  close(): Promise<void>
}

type Work<T> = (run: Run) => Promise<T>

interface Parts {
  readonly processes: Pick<Processes, 'begin' | 'promote' | 'keep' | 'look' | 'end'>
  /** Maximum number of processes that run at once in this program, over all its event loops; null for no limit. */
  readonly atOnce?: number | null
  /** Called with errors of work that are faults of the service, not of the person who began it. */
  readonly report?: (id: number, fault: unknown) => void
}

/** Two are enough for a service: each of them reads the disk as fast as it can. */
const defaultAtOnce = 2
const maxWaiting = 20
/** Interval in ms at which news is kept and a request to cancel is noticed. */
const step = 1_000
/** Interval in ms at which a process without news reports that it runs. */
const beat = 10_000
/**
 * Pauses in ms before a service tries again to keep the end of a process. A command doesn't try again,
 * because a person is waiting for it.
 */
const triesAgain = [100, 1_000, 5_000]
/** Time in ms for work to notice that it is to end. */
const graceToStop = 3_000

export function createProcesses({ processes, atOnce = defaultAtOnce, report = () => {} }: Parts): Runner {
  const place: Place = { owner: ownProcessId(), atOnce, waiting: maxWaiting }
  const underWay = new Set<Followed>()
  let isClosing = false

  function run<T>(process: Process, work: Work<T>, resultOf: (value: T) => Process['result']): Promise<T> {
    const followed = new Followed(process, { processes, place, report })
    underWay.add(followed)
    const ended = followed.run(work, resultOf).finally(() => underWay.delete(followed))
    // Some callers don't wait for it; its fault is kept.
    ended.catch(() => {})
    if (isClosing) followed.stop()
    return ended
  }

  return {
    start: async (asked, work) => {
      if (isClosing) throw new Overloaded('The service is stopping.')
      const process = await processes.begin(asked, place)
      if (!process)
        throw new Overloaded(
          `${maxWaiting} processes are waiting already. Try again when some of them have ended.`,
        )
      if ('rival' in process) throw new Rivalled(process.rival)
      void run(process, work, result => result)
      return process
    },
    follow: async (asked, work, resultOf) => {
      const process = await processes.begin(asked, place).catch(error => {
        if (error instanceof StoreUnavailable) return undefined
        throw error
      })
      if (process && 'rival' in process) throw new Rivalled(process.rival)
      return process ? run(process, work, resultOf) : work(unlisted())
    },
    close: async () => {
      isClosing = true
      await Promise.all([...underWay].map(one => one.close()))
    },
  }
}

/** A run for work that is in no list. */
export const unlisted = (): Run => ({
  id: 0,
  signal: new AbortController().signal,
  log: () => {},
  progress: () => {},
})

/** A process of this program. */
class Followed {
  readonly #id: number
  readonly #parts: FollowedParts
  readonly #ending = new AbortController()
  readonly #over = new AbortController()
  readonly #unkept = createUnkept()
  readonly #turn = Promise.withResolvers<void>()
  #isWaiting: boolean
  #beatAt = performance.now()
  #finished: Promise<unknown> = Promise.resolve()

  constructor({ id, state }: Process, parts: FollowedParts) {
    this.#id = id
    this.#parts = parts
    this.#isWaiting = state === 'scheduled'
    this.#turn.promise.catch(() => {})
    if (!this.#isWaiting) this.#turn.resolve()
    const { signal } = this.#ending
    signal.addEventListener('abort', () => this.#turn.reject(signal.reason), { once: true })
  }

  run<T>(does: Work<T>, resultOf: (value: T) => Process['result']): Promise<T> {
    const ended = this.#work(does, resultOf)
    this.#finished = ended.catch(() => {})
    return ended
  }

  async #work<T>(does: Work<T>, resultOf: (value: T) => Process['result']): Promise<T> {
    const keeping = this.#keepUpAgainAndAgain()
    const { log, progress } = this.#unkept
    const { signal } = this.#ending
    let how: Ending
    let outcome: { value: T } | { fault: unknown }
    try {
      await this.#turn.promise
      const value = await does({ id: this.#id, signal, log, progress })
      outcome = { value }
      how = { state: 'completed', result: resultOf(value), fault: null }
    } catch (fault) {
      outcome = { fault }
      how = endingOf(fault, signal)
      for (const line of linesOf(fault)) log(line)
      if (how.state === 'failed' && !isForReader(fault)) this.#parts.report(this.#id, fault)
    }
    // Waits for a change under way, which would otherwise be kept after the end.
    this.#over.abort()
    await keeping
    await this.#keepEnd(how)
    if ('fault' in outcome) throw outcome.fault
    return outcome.value
  }

  async #keepUpAgainAndAgain(): Promise<void> {
    const { signal: over } = this.#over
    while (!over.aborted && !this.#ending.signal.aborted) {
      await delay(step, undefined, { ref: false, signal: over }).catch(() => {})
      // If the store fails now, it is asked again in the next step.
      if (!over.aborted) await this.#keepUp().catch(() => {})
    }
  }

  /** Keeps what is new, and finds out if the process is to go on. */
  async #keepUp(): Promise<void> {
    const { processes, place } = this.#parts
    if (this.#isWaiting) {
      const standing = await processes.promote(this.#id, place)
      if (standing === 'gone') this.#end('lost', 'The process was ended by others.')
      else if (standing === 'runs') {
        this.#isWaiting = false
        this.#turn.resolve()
      }
    }
    const isDue = this.#unkept.hasNews || performance.now() - this.#beatAt > beat
    const standing = isDue ? await this.#keepNews() : await processes.look(this.#id, place.owner)
    if (standing === 'cancelled') this.#end('cancelled', 'The process was cancelled.')
    if (standing === 'lost') this.#end('lost', 'The process was ended by others.')
  }

  async #keepNews() {
    const { processes, place } = this.#parts
    const news = this.#unkept.take()
    try {
      const standing = await processes.keep(this.#id, place.owner, news)
      this.#beatAt = performance.now()
      return standing
    } catch (error) {
      this.#unkept.putBack(news)
      throw error
    }
  }

  async #keepEnd(how: Ending): Promise<void> {
    const { processes, place, report } = this.#parts
    const news = this.#unkept.take()
    for (const pause of place.atOnce === null ? [null] : [...triesAgain, null])
      try {
        await processes.end(this.#id, place.owner, how, news)
        return
      } catch (error) {
        // No more signs of life will come, so the process will count as interrupted.
        if (pause === null) report(this.#id, error)
        else await delay(pause)
      }
  }

  #end(state: Ends['state'], why: string): void {
    this.#ending.abort(new Ends(state, why))
  }

  stop(): void {
    this.#end('interrupted', 'The service stopped.')
  }

  async close(): Promise<void> {
    this.stop()
    const late = new AbortController()
    const isInTime = await Promise.race([
      this.#finished.then(() => true),
      delay(graceToStop, false, { signal: late.signal }).catch(() => false),
    ])
    late.abort()
    if (isInTime) return
    const { processes, place } = this.#parts
    const how = { state: 'interrupted', result: null, fault: 'The service stopped.' } as const
    // The work ends with the program.
    await processes.end(this.#id, place.owner, how, this.#unkept.take()).catch(() => {})
  }
}

type FollowedParts = Required<Pick<Parts, 'processes' | 'report'>> & { readonly place: Place }

/** Progress of work whose steps have no number: a share from 0 to 1 as a percentage. */
export const percent = (share: number): Progress => ({
  done: Math.round(share * 100),
  total: 100,
  unit: 'percent',
})

/** The reason why the work of a process has to end. */
class Ends extends OperatorError {
  readonly state: EndState | 'lost'

  constructor(state: EndState | 'lost', message: string) {
    super(message)
    this.state = state
  }
}

/** True if the error's message may be shown to readers of the process. Any other error is a fault of the service. */
const isForReader = (fault: unknown): fault is Error =>
  fault instanceof OperatorError || fault instanceof Overloaded || fault instanceof Problem

/** Lines for the log, if more than one thing is wrong. */
const linesOf = (fault: unknown): readonly string[] =>
  fault instanceof OperatorError && fault.details.length > 0
    ? [fault.message, ...fault.details].map(withoutNul)
    : []

function endingOf(fault: unknown, { aborted, reason }: AbortSignal): Ending {
  if (aborted && reason instanceof Ends && reason.state !== 'lost')
    return { state: reason.state, result: null, fault: reason.message }
  if (fault instanceof Interrupted) return { state: 'interrupted', result: null, fault: fault.message }
  const why = isForReader(fault) ? fault.message : 'The service failed. Its log says why.'
  const more = linesOf(fault).length > 0
  return { state: 'failed', result: null, fault: withoutNul(more ? `${why} (the log names more)` : why) }
}

/** Replaces NUL, which the store can't hold. */
const withoutNul = (text: string): string => text.replaceAll('\0', '\uFFFD')
