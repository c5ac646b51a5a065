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

export type ProcessKind = 'import' | 'ingest' | 'verify' | 'backup'

/** `interrupted`: the service or the command ended while it ran. */
export type ProcessState = 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'

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
}

/**
 * Runs work as a process.
 * @throws Problem 503 where as many run or wait as may
 */
export type StartProcess = (
  process: NewProcess,
  work: (run: Run) => Promise<Process['result']>,
) => Promise<Process>
