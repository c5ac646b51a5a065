import { OperatorError } from '../lib/errors.ts'
import type { AuditEvent } from './audit-events.ts'

/**
 * Work that takes long and runs in the background (docs/decisions/0042), such as an import, an ingest, a
 * check of all files or a backup.
 */
export interface Process {
  /** A number that counts up, because DSpace's clients identify processes by a number. */
  readonly id: number
  readonly kind: ProcessKind
  readonly state: ProcessState
  /** UUID of the eperson who started it; null: the command line. */
  readonly eperson: string | null
  /** The requested parameters as names and texts, without secrets. */
  readonly parameters: Readonly<Record<string, string>>
  /** Time in RFC 3339. */
  readonly begun: string
  readonly ended: string | null
  readonly progress: Progress | null
  /** The result as plain JSON, once there is one. */
  readonly result: Readonly<Record<string, unknown>> | null
  /** The reason for its failure, in words for a person. */
  readonly fault: string | null
}

/**
 * Kinds of process. The last two are DSpace's names for deleting an item, and for asking all epersons to
 * accept the agreement again.
 */
export const processKinds = [
  ...(['import', 'ingest', 'verify', 'verify-trail', 'verify-backups', 'clean', 'move', 'backup'] as const),
  ...(['object-deletion', 'metadata-deletion'] as const),
] as const
export type ProcessKind = (typeof processKinds)[number]

/**
 * `scheduled`: it waits for its turn. `interrupted`: the service or the command ended before the process did.
 */
export type ProcessState = 'scheduled' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'

/** A state in which a process has ended. */
export type EndState = Exclude<ProcessState, 'scheduled' | 'running'>

export interface Progress {
  readonly done: number
  /** The total; undefined: unknown. */
  readonly total?: number
  /** The unit, such as `records` or `bytes`. */
  readonly unit: string
}

/** The means by which work communicates with its process. */
export interface Run {
  readonly id: number
  /** A signal that aborts when the process is cancelled or the service stops. */
  readonly signal: AbortSignal
  /** Adds a line to the process's log. Lines beyond a maximum are counted, not kept. */
  log(line: string): void
  /** Reports progress, which is stored at most once a second. */
  progress(progress: Progress): void
}

export interface NewProcess {
  readonly kind: ProcessKind
  readonly eperson: string | null
  readonly parameters: Process['parameters']
  /**
   * The name of a parameter. No other process of the same kind with the same value may
   * run or wait, on any node.
   */
  readonly aloneIn?: string
  /** The event recorded with the process. Its object is set to the number of the process. */
  readonly event?: AuditEvent
}

/** Thrown if the new process must be the only one, and another of its kind is running or waiting. */
export class Rivalled extends OperatorError {
  /** The number of the other process. */
  readonly rival: number

  constructor(rival: number) {
    super(`The process ${rival} does the same already. Wait for its end, or cancel it.`)
    this.rival = rival
  }
}

/** A line of the log of a process. */
export interface LogLine {
  /** Number of the line, from 1. */
  readonly n: number
  /** Time in RFC 3339. */
  readonly time: string
  readonly text: string
}

/**
 * Runs work as a process. An error that the work throws becomes the process's fault; the message of an
 * `OperatorError` is shown in full.
 * @returns the process as it began, while the work goes on
 * @throws Overloaded (503) if too many processes run or wait
 * @throws Rivalled if another process excludes this one
 */
export type StartProcess = (
  process: NewProcess,
  work: (run: Run) => Promise<Process['result']>,
) => Promise<Process>
