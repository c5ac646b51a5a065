import type { AuditEvent } from './audit-events.ts'
import { OperatorError } from './errors.ts'

/** What takes long and is done in the background (docs/decisions/0042): an import, an ingest, a check of all files, a backup. */
export interface Process {
  /** Counts up. DSpace's clients know processes by a number. */
  readonly id: number
  readonly kind: ProcessKind
  readonly state: ProcessState
  /** Who began it; null: the command line. */
  readonly eperson: string | null
  /** What was asked for, as names and texts; no secrets. */
  readonly parameters: Readonly<Record<string, string>>
  /** RFC 3339. */
  readonly begun: string
  readonly ended: string | null
  readonly progress: Progress | null
  /** What it made, once it is there: plain JSON. */
  readonly result: Readonly<Record<string, unknown>> | null
  /** Why it failed, in words for a person. */
  readonly fault: string | null
}

/** The last two are the names that DSpace's interface knows for deleting an item, and for asking everybody to agree again. */
export type ProcessKind =
  | 'import'
  | 'ingest'
  | 'verify'
  | 'verify-trail'
  | 'verify-backups'
  | 'clean'
  | 'backup'
  | 'object-deletion'
  | 'metadata-deletion'

/** `scheduled`: it waits for its turn. `interrupted`: the service or the command ended before it did. */
export type ProcessState = 'scheduled' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'

/** How a process may end. */
export type EndState = Exclude<ProcessState, 'scheduled' | 'running'>

export interface Progress {
  readonly done: number
  /** undefined: not known. */
  readonly total?: number
  /** Such as `records` or `bytes`. */
  readonly unit: string
}

/** What the work of a process is given. */
export interface Run {
  readonly id: number
  /** Aborts when somebody cancels the process, and when the service stops. */
  readonly signal: AbortSignal
  /** Adds a line to its log. Lines beyond a bound are counted, not kept. */
  log(line: string): void
  /** Is kept once a second at most. */
  progress(progress: Progress): void
}

export interface NewProcess {
  readonly kind: ProcessKind
  readonly eperson: string | null
  readonly parameters: Process['parameters']
  /** The name of a parameter: no other of the kind with the same value may run or wait, on any node. */
  readonly aloneIn?: string
  /** Is recorded together with it. Its object becomes the number of the process. */
  readonly event?: AuditEvent
}

/** Another process of the kind is under way, and the new one must be alone. */
export class Rivalled extends OperatorError {
  /** The number of the other. */
  readonly rival: number

  constructor(rival: number) {
    super(`The process ${rival} does the same already. Wait for its end, or cancel it.`)
    this.rival = rival
  }
}

/** A line of the log of a process. */
export interface LogLine {
  /** From 1. */
  readonly n: number
  /** RFC 3339. */
  readonly time: string
  readonly text: string
}

/**
 * Runs work as a process. What the work throws is its fault; an `OperatorError` is told to its reader in full.
 * @returns the process as it began, while the work goes on
 * @throws Overloaded (503) where as many run or wait as may; Rivalled
 */
export type StartProcess = (
  process: NewProcess,
  work: (run: Run) => Promise<Process['result']>,
) => Promise<Process>
