import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { ImportError } from '../import/import-error.ts'
import { parseExact } from '../lib/json.ts'
import { StoreUnavailable } from '../model/errors.ts'
import type { FromWorker, Job, ToWorker } from './import-job.ts'

export interface Running {
  /** Stops it; the work ends with the signal's reason. */
  readonly signal: AbortSignal
  progress(step: string, share: number): void
}

/** In ms: a process that was told to stop, and doesn't, is killed. Nothing that it has written counts. */
const graceToStop = 10_000

/**
 * Does the work in a process of its own (docs/decisions/0044).
 * @param descriptor of the file to read; null: there is none
 * @returns its report
 * @throws ImportError for what somebody can put right
 */
export async function runImport(
  job: Job,
  descriptor: number | null,
  { signal, progress }: Running,
): Promise<Readonly<Record<string, unknown>>> {
  signal.throwIfAborted()
  const file = new URL(`../cli/import-process${extname(import.meta.url)}`, import.meta.url)
  const child = fork(file, [], {
    // The file is inherited: it may have no name any more.
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
    const outcome = await outcomeOf(child, job, progress)
    switch (outcome.kind) {
      case 'done':
        return parseExact(outcome.report) as Readonly<Record<string, unknown>>
      case 'refused':
        throw new ImportError(inParameters(outcome.message))
      case 'unavailable':
        throw new StoreUnavailable(outcome.message)
      case 'cancelled':
        signal.throwIfAborted()
        throw new StoreUnavailable('the import was interrupted; nothing was imported')
      default:
        throw new Error(outcome.message)
    }
  } finally {
    clearTimeout(killing)
    signal.removeEventListener('abort', stop)
  }
}

type Outcome = Exclude<FromWorker, { kind: 'progress' }>

function outcomeOf(child: ChildProcess, job: Job, progress: Running['progress']): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let outcome: Outcome | undefined
    child.on('message', (message: FromWorker) => {
      if (message.kind === 'progress') progress(message.step, message.share)
      else outcome = message
    })
    child.once('error', cause => reject(new StoreUnavailable('no import can be started', { cause })))
    // Only when it has ended has it closed what it had open.
    child.once('close', (code, killedBy) => {
      if (outcome) resolve(outcome)
      else
        reject(
          new StoreUnavailable(
            `the import ended before it was done (${killedBy ?? `exit code ${code}`}); nothing was imported`,
          ),
        )
    })
    tell(child, { job })
  })
}

function tell(child: ChildProcess, message: ToWorker): void {
  // It may have ended; then its end says so.
  child.send(message, () => {})
}

/** Messages name the options of `carrel import`; the parameters of the address are called the same. */
const inParameters = (message: string) =>
  message
    .replaceAll('--update or --delete', 'mode=update or mode=delete')
    .replaceAll(/--(key|type|collation|read)\b/g, 'the parameter $1')
