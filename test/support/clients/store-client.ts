import type { Client } from '../../../src/lib/fair-queue.ts'
import { patience } from '../service/waiting.ts'

/** For whom the store works when a test asks it itself. */
export const storeClient: Client = { network: '127.0.0.1', signal: () => AbortSignal.timeout(patience) }
