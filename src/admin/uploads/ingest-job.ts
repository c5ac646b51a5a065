import type { Config } from '../../config/config.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Readers } from '../../model/readers.ts'

export interface IngestJob {
  readonly config: Config
  readonly path: string
  /** An empty folder for the contents of the archive. */
  readonly unpacked: string
  /** The read rule of all items; null to use the archive's own rules, or those given before. */
  readonly read: Readers | null
  readonly addOnly: boolean
  readonly dryRun: boolean
  /** The name that the sender gave the source; null if there is none. */
  readonly name: string | null
  /** The name of the sent file: the source's name if neither its sender nor a folder in it gives another one. */
  readonly sent: string
  readonly groups: ReadonlySet<string>
  readonly event: AuditEvent
}
