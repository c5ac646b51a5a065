import type { Config } from '../../config/config.ts'
import { type Finding, findingsIn } from '../../lib/findings.ts'
import type { StoreFacts } from '../../storage/statements/inspect.ts'
import type { FolderFacts } from './folder-facts.ts'
import { words } from './words.ts'

/** Makes the findings about one subject, in the words of `words.ts`. */
export const findingsAbout = findingsIn(words)

/** True if an operator should act soon; the exit code of `carrel doctor` says so. */
export const isTrouble = ({ level }: Finding): boolean => level === 'warning' || level === 'error'

/** Everything that checks look at. It is gathered first, so that a check is a pure function. */
export interface Facts {
  readonly config: Config
  readonly machine: {
    readonly processors: number
    /** Bytes that the process may use. */
    readonly memory: number
  }
  /** Time in ms since 1970. */
  readonly now: number
  /**
   * The path that CARREL_CONFIG names and whether every user of the machine may write to it; null if it names
   * none.
   */
  readonly configFile: { readonly path: string; readonly isWritable: boolean } | null
  /** The folders that exist. */
  readonly folders: readonly FolderFacts[]
  /** Facts of the store; null if it can't be read, which is a finding by itself. */
  readonly store: StoreFacts | null
}

/** Checks one subject. It makes at least the finding that all is right, or none if it doesn't apply. */
export type Check = (facts: Facts) => Iterable<Finding>

/** Length of a day in ms. */
export const day = 24 * 3_600_000

/** Returns a duration in ms as whole days; below 0 counts as none. */
export const daysOf = (age: number): number => Math.max(0, Math.floor(age / day))
