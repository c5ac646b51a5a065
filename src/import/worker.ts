import { serveThread } from '../lib/threads/thread.ts'
import type { FieldType } from '../model/entities.ts'
import type { Constraint } from './constraints.ts'
import type { Shaping } from './shapes.ts'
import { Appender } from './spool.ts'
import { createWork } from './work.ts'

export type WorkHandlers = ReturnType<typeof createWork>

export interface WorkData {
  /** Descriptor of the spool of this thread. */
  readonly descriptor: number
  readonly types: ReadonlyMap<string, FieldType>
  readonly shaping: Shaping
  readonly constraints: readonly Constraint[]
}

serveThread(({ descriptor, types, shaping, constraints }: WorkData) => ({
  handlers: createWork(new Appender(descriptor), types, shaping, constraints),
  close: () => {},
}))
