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

/** Processes and their logs (docs/decisions/0042). A program that runs one says so again and again; otherwise it counts as interrupted. */
export interface Processes {
  /** @returns undefined if as many run or wait already as may */
  begin(process: NewProcess, place: Place): Promise<Process | Rival | undefined>
  /** Lets a process run that waits, if it is its turn. */
  promote(id: number, place: Place): Promise<Turn>
  /** Keeps what has happened since the last time, and says that it still runs. */
  keep(id: number, owner: string, news: News): Promise<Standing>
  /** The same without saying anything. */
  look(id: number, owner: string): Awaitable<Standing>
  /** @returns whether it is its owner's to end: it may count as interrupted already */
  end(id: number, owner: string, how: Ending, news: News): Promise<boolean>
  /** Asks its owner to end it. @returns its state before; undefined: there is none */
  cancel(id: number, event: AuditEvent): Promise<ProcessState | undefined>
  /** Removes one that has ended, with its log. @returns its state before; undefined: there is none */
  remove(id: number, event: AuditEvent): Promise<ProcessState | undefined>
  one(id: number): Awaitable<Process | undefined>
  find(search: ProcessSearch, window: Window): Awaitable<Part<Process>>
  /** The lines after one, and how many were not kept. */
  lines(id: number, after: number, limit: number): Awaitable<Log>
  /** Whose processes run or wait. */
  owners(): Awaitable<readonly string[]>
  /** Keeps that the processes of these owners, and those that nobody has heard of for long, are interrupted. */
  interrupt(owners: readonly string[]): Promise<void>
  /** Removes the oldest that have ended. */
  prune(before: string, most: number): Promise<void>
}

/** The process of the same kind that keeps another from beginning (`aloneIn`). */
export interface Rival {
  readonly rival: number
}

/** Where a process runs. */
export interface Place {
  /** The program that runs it. */
  readonly owner: string
  /** How many it runs at once; null: any number. */
  readonly atOnce: number | null
  /** How many may wait. */
  readonly waiting: number
}

/** `gone`: it is not its owner's any more. */
export type Turn = 'runs' | 'waits' | 'gone'
/** `lost`: it counts as interrupted, or was removed. */
export type Standing = 'wanted' | 'cancelled' | 'lost'

/** What has happened since it was last kept. */
export interface News {
  readonly progress: Progress | null
  readonly lines: readonly LogLine[]
  /** How many lines there were in all, with those that are not kept. */
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
  /** How many lines were written beyond the bound. */
  readonly left: number
}

/** What is shown to everybody on every page (`/api/system/systemwidealerts`). */
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

/** Characters of a line of a log, and lines of a log that are kept. */
export const maxLine = 1_000
export const maxLines = 2_000

/** In ms. So long after its owner was last heard of, a process counts as interrupted. */
export const silentFor = 60_000
