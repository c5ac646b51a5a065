import { recordEvent } from './events.ts'
import { beginAtProvider, logout, recordLogin, refreshSession } from './hot.ts'

/** All changes of the store by name, which the single writer runs (docs/decisions/0005). */
export const changes = {
  recordEvent,
  recordLogin,
  logout,
  beginAtProvider,
  refreshSession,
}
