import { ingestUpload } from '../admin/uploads/ingest.ts'
import type { IngestJob } from '../admin/uploads/ingest-job.ts'
import { serveChild } from './serve-child.ts'
import { withStoreOf } from './store.ts'

/** An ingest over HTTP, in a process of its own, like that of `carrel ingest` (docs/decisions/0042). */
serveChild<IngestJob>((job, running) =>
  withStoreOf(job.config, ({ repository }) => ingestUpload(job, running, repository)),
)
