import type { Client } from '../../../src/lib/fair-queue.ts'
import { patience } from '../service/waiting.ts'

/** The client that the store works for when a test calls it directly. */
export const storeClient: Client = { network: '127.0.0.1', signal: () => AbortSignal.timeout(patience) }
