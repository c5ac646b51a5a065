import { type ChildProcess, fork } from 'node:child_process'
import { OperatorError, StoreUnavailable } from '../errors.ts'
import { parseWritten } from '../json.ts'
import { programFile } from '../own-files.ts'

/** Work that a service does in a process of its own, as a command would (docs/decisions/0044). */
export interface Running {
  /** Stops the work, which ends with the signal's reason. */
  readonly signal: AbortSignal
  progress(step: string, share: number): void
  /** Adds a line to the log in the list of processes, if the work is listed there. */
  log(line: string): void
}

export type Report = Readonly<Record<string, unknown>>

/** Messages from the service to the process that works. */
export type ToChild<Job> = { readonly job: Job } | { readonly cancel: true }

/** Messages from the process that works to the service. */
export type FromChild =
  | { readonly kind: 'progress'; readonly step: string; readonly share: number }
  /** @param more further lines, which are only counted */
  | { readonly kind: 'log'; readonly lines: readonly string[]; readonly more: number }
  /** The report is JSON, because numbers with more digits than a double holds are objects that can't be sent. */
  | { readonly kind: 'done'; readonly report: string }
  /** A failure that a person can put right; the message says how. */
  | { readonly kind: 'refused'; readonly message: string; readonly details: readonly string[] }
  | { readonly kind: 'unavailable'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'cancelled' }

interface Work<Job> {
  /** The file of `src/cli` that does the work, without its extension. */
  readonly program: string
  readonly job: Job
  /** Descriptor of a file that the process inherits, and that may have no name any more. */
  readonly descriptor?: number | null
  /** Name of the work in messages, such as `the import`, and the consequence if it breaks off. */
  readonly name: string
  readonly consequence?: string
}

/** A request that the process can't fulfill as it was made. */
export class Refusal extends OperatorError {
  override readonly details: readonly string[]

  constructor(message: string, details: readonly string[]) {
    super(message)
    this.details = details
  }
}

/** The descriptor at which the process finds its file. */
export const fileDescriptor = 3

/** Time in ms after which a process that was told to stop is killed. Nothing that it has written counts. */
const graceToStop = 10_000

/** Runs work in a process of its own. @returns its report @throws Refusal for a mistake that a person can put right */
export async function runInChild<Job>(work: Work<Job>, running: Followed): Promise<Report> {
  const { signal } = running
  signal.throwIfAborted()
  const { program, descriptor, name, consequence = '' } = work
  const file = programFile(`cli/${program}`)
  const child = fork(file, [], {
    stdio: ['ignore', 'ignore', 'inherit', descriptor ?? 'ignore', 'ipc'],
    execArgv: [],
    serialization: 'advanced',
  })
  let killing: NodeJS.Timeout | undefined
  const stop = () => {
    tell(child, { cancel: true })
    killing = setTimeout(() => child.kill('SIGKILL'), graceToStop)
  }
  signal.addEventListener('abort', stop)
  try {
    const outcome = await outcomeOf(child, work, running)
    switch (outcome.kind) {
      case 'done':
        return parseWritten(outcome.report) as Report
      case 'refused':
        throw new Refusal(outcome.message, outcome.details)
      case 'unavailable':
        throw new StoreUnavailable(outcome.message)
      case 'cancelled':
        signal.throwIfAborted()
        throw new StoreUnavailable(`${name} was interrupted${consequence}`)
      default:
        throw new Error(outcome.message)
    }
  } finally {
    clearTimeout(killing)
    signal.removeEventListener('abort', stop)
  }
}

/** Options of a caller, which may have no log. */
export type Followed = Pick<Running, 'signal' | 'progress'> & Partial<Running>

type Outcome = Exclude<FromChild, { kind: 'progress' | 'log' }>

function outcomeOf<Job>(
  child: ChildProcess,
  { job, name, consequence = '' }: Work<Job>,
  { progress, log = () => {} }: Followed,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let outcome: Outcome | undefined
    child.on('message', (message: FromChild) => {
      if (message.kind === 'progress') progress(message.step, message.share)
      else if (message.kind === 'log') {
        for (const line of message.lines) log(line)
        for (let at = 0; at < message.more; at++) log('')
      } else outcome = message
    })
    child.once('error', cause => reject(new StoreUnavailable(`${name} can't be started`, { cause })))
    // The files that it had open are closed only when it has ended.
    child.once('close', (code, killedBy) => {
      const how = killedBy ?? `exit code ${code}`
      if (outcome) resolve(outcome)
      else reject(new StoreUnavailable(`${name} ended before it was done (${how})${consequence}`))
    })
    // A process that can't be started has no channel; the listener above gets the reason.
    if (child.pid === undefined) return
    try {
      tell(child, { job })
    } catch (error) {
      // Without a job, the process would wait forever.
      child.kill('SIGKILL')
      reject(error)
    }
  })
}

function tell<Job>(child: ChildProcess, message: ToChild<Job>): void {
  // The process may have ended, which is reported separately.
  child.send(message, () => {})
}
