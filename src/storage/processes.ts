import type { Awaitable } from '../lib/awaitable.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type {
  EndState,
  LogLine,
  NewProcess,
  Process,
  ProcessKind,
  ProcessState,
  Progress,
} from '../model/processes.ts'
import type { AllowedSessions } from '../model/sessions.ts'
import type { Part, Window } from './window.ts'

/**
 * Processes and their logs (docs/decisions/0042). A program that runs one gives signs of life; without them,
 * the process counts as interrupted.
 */
export interface Processes {
  /** @returns the rival that excludes it; undefined if no more processes may run or wait */
  begin(process: NewProcess, place: Place): Promise<Process | Rival | undefined>
  /** Lets a waiting process run if it is its turn. */
  promote(id: number, place: Place): Promise<Turn>
  /** Records news of a process, and a sign of life. */
  keep(id: number, owner: string, news: News): Promise<Standing>
  /** Reads the standing of a process without recording a sign of life. */
  look(id: number, owner: string): Awaitable<Standing>
  /** @returns false if it is no longer its owner's, because it was marked as interrupted for example */
  end(id: number, owner: string, how: Ending, news: News): Promise<boolean>
  /** Asks its owner to end it. @returns its state before; undefined: there is none */
  cancel(id: number, event: AuditEvent): Promise<ProcessState | undefined>
  /** Removes one that has ended, with its log. @returns its state before; undefined: there is none */
  remove(id: number, event: AuditEvent): Promise<ProcessState | undefined>
  one(id: number): Awaitable<Process | undefined>
  find(search: ProcessSearch, window: Window): Awaitable<Part<Process>>
  /** The lines after line `after`, and the number of lines that were not kept. */
  lines(id: number, after: number, limit: number): Awaitable<Log>
  /** The owners of processes that run or wait. */
  owners(): Awaitable<readonly string[]>
  /** Marks the processes of these owners, and those silent for longer than `silentFor`, as interrupted. */
  interrupt(owners: readonly string[]): Promise<void>
  /** Removes processes that ended before a time, and ended ones that are not among the newest `most`. */
  prune(before: string, most: number): Promise<void>
}

/** The process of the same kind that keeps another from beginning (`aloneIn`). */
export interface Rival {
  readonly rival: number
}

/** The program that runs a process, and its limits. */
export interface Place {
  readonly owner: string
  /** Maximum number of processes at once; null: unlimited. */
  readonly atOnce: number | null
  /** Maximum number of waiting processes. */
  readonly waiting: number
}

/** `gone`: it is not its owner's any more. */
type Turn = 'runs' | 'waits' | 'gone'
/** `lost`: it has ended, was marked as interrupted, or was removed. */
export type Standing = 'wanted' | 'cancelled' | 'lost'

/** Progress of a process since it was last recorded. */
export interface News {
  readonly progress: Progress | null
  readonly lines: readonly LogLine[]
  /** Number of lines written in all, including those that are not kept. */
  readonly written: number
}

export interface Ending {
  readonly state: EndState
  readonly result: Process['result']
  readonly fault: string | null
}

export interface ProcessSearch {
  readonly eperson?: string
  readonly kind?: ProcessKind
  /** Any of these. */
  readonly states?: readonly ProcessState[]
  readonly order: { readonly by: 'id' | 'begun' | 'ended'; readonly falling: boolean }
}

export interface Log {
  readonly lines: readonly LogLine[]
  /** Number of lines written beyond the bound. */
  readonly left: number
}

/** A message shown on every page (`/api/system/systemwidealerts`). */
export interface Alert {
  readonly id: number
  readonly message: string
  readonly allowSessions: AllowedSessions
  /** RFC 3339; null: no countdown. */
  readonly countdownTo: string | null
  readonly active: boolean
}

export interface Alerts {
  all(): Awaitable<readonly Alert[]>
  /** @returns undefined if there is one already */
  add(alert: Omit<Alert, 'id'>, event: AuditEvent): Promise<Alert | undefined>
  /** @returns undefined if there is none with this id */
  change(alert: Alert, event: AuditEvent): Promise<Alert | undefined>
}

/** Maximum characters of a line of a log, and maximum lines of a log that are kept. */
export const maxLine = 1_000
export const maxLines = 2_000

/** Time in ms without a sign of life after which a process counts as interrupted. */
export const silentFor = 60_000
