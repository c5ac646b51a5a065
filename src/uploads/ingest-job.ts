import type { Config } from '../config/config.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Readers } from '../model/readers.ts'

/** The job of a process that ingests an archive. */
export interface IngestJob {
  readonly config: Config
  /** The archive. */
  readonly path: string
  /** An empty folder, where it is unpacked to. */
  readonly unpacked: string
  /** null: what the archive says, or has been said before. */
  readonly read: Readers | null
  readonly addOnly: boolean
  readonly dryRun: boolean
  /** The name that the sender gave the source; null: none. */
  readonly name: string | null
  /** The name of what was sent: the source's, where neither its sender nor a folder in it gives another one. */
  readonly sent: string
  readonly groups: ReadonlySet<string>
  readonly event: AuditEvent
}
