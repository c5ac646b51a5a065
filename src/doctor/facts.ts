import type { Config } from '../config/config.ts'
import type { StoreFacts } from '../storage/inspection.ts'
import type { Finding } from './finding.ts'
import type { FolderFacts } from './folder-facts.ts'

/** Everything that checks look at. It is gathered before, so that a check is a pure function. */
export interface Facts {
  readonly config: Config
  readonly machine: {
    readonly processors: number
    /** Bytes that the process may use. */
    readonly memory: number
  }
  /** Milliseconds since 1970. */
  readonly now: number
  /** The path that CARREL_CONFIG names and whether every user of the machine may write to it; null: none. */
  readonly configFile: { readonly path: string; readonly isWritable: boolean } | null
  /** Those that exist. */
  readonly folders: readonly FolderFacts[]
  /** null: the store can't be read, which a finding says. */
  readonly store: StoreFacts | null
}

/** Looks at one subject. It finds at least that something is right, or nothing if it doesn't apply. */
export type Check = (facts: Facts) => Iterable<Finding>
