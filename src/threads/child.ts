import { type ChildProcess, fork } from 'node:child_process'
import { parseWritten } from '../lib/json.ts'
import { programFile } from '../lib/own-files.ts'
import { OperatorError, StoreUnavailable } from '../model/errors.ts'

/** Work that a service does in a process of its own, as a command would (docs/decisions/0044). */
export interface Running {
  /** Stops it; the work ends with the signal's reason. */
  readonly signal: AbortSignal
  progress(step: string, share: number): void
  /** Adds a line to the log of the process that it is, where there is one. */
  log(line: string): void
}

export type Report = Readonly<Record<string, unknown>>

/** From the service to the process that works. */
export type ToChild<Job> = { readonly job: Job } | { readonly cancel: true }

/** And back. */
export type FromChild =
  | { readonly kind: 'progress'; readonly step: string; readonly share: number }
  /** @param more further lines, which are only counted */
  | { readonly kind: 'log'; readonly lines: readonly string[]; readonly more: number }
  /** As JSON: numbers with more digits than a double holds are objects that can't be sent. */
  | { readonly kind: 'done'; readonly report: string }
  /** Somebody can put it right: the message says how. */
  | { readonly kind: 'refused'; readonly message: string; readonly details: readonly string[] }
  | { readonly kind: 'unavailable'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'cancelled' }

interface Work<Job> {
  /** The file of `src/cli` that does it, without its ending. */
  readonly program: string
  readonly job: Job
  /** Of a file that it inherits, which may have no name any more. */
  readonly descriptor?: number | null
  /** What a message calls it, such as `the import`, and what follows if it breaks off. */
  readonly name: string
  readonly consequence?: string
}

/** What the process can't do as it was asked. */
export class Refusal extends OperatorError {
  override readonly details: readonly string[]

  constructor(message: string, details: readonly string[]) {
    super(message)
    this.details = details
  }
}

/** The descriptor that the process finds its file at. */
export const fileDescriptor = 3

/** In ms: a process that was told to stop, and doesn't, is killed. Nothing that it has written counts. */
const graceToStop = 10_000

/**
 * @returns its report
 * @throws Refusal for what somebody can put right
 */
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

/** The options of a caller, who may have no log. */
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
    // Only when it has ended has it closed what it had open.
    child.once('close', (code, killedBy) => {
      const how = killedBy ?? `exit code ${code}`
      if (outcome) resolve(outcome)
      else reject(new StoreUnavailable(`${name} ended before it was done (${how})${consequence}`))
    })
    try {
      tell(child, { job })
    } catch (error) {
      // It would wait for its work for ever.
      child.kill('SIGKILL')
      reject(error)
    }
  })
}

function tell<Job>(child: ChildProcess, message: ToChild<Job>): void {
  // It may have ended; then its end says so.
  child.send(message, () => {})
}
