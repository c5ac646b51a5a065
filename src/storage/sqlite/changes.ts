import {
  addAccessToken,
  noteAccessTokenUse,
  revokeAccessToken,
  revokeAccessTokens,
} from './access-token-changes.ts'
import { logoutAll } from './account-changes.ts'
import { beginAttempt, takeBackAttempt } from './attempt-changes.ts'
import { raiseMark } from './clock-changes.ts'
import { recordEvent } from './events.ts'
import { beginAtProvider, logout, recordLogin, refreshSession } from './hot.ts'
import { endAtProvider, forgetSessions, keepTicket, recognize, takeTicket } from './identity-changes.ts'
import { link, unlink } from './identity-links.ts'
import { endOtherSessions, endSession, forgetDeadSessions } from './session-changes.ts'

/** All changes of the store by name, which the single writer runs (docs/decisions/0005). */
export const changes = {
  recordEvent,
  recordLogin,
  logout,
  logoutAll,
  beginAttempt,
  takeBackAttempt,
  recognize,
  beginAtProvider,
  endAtProvider,
  forgetSessions,
  link,
  unlink,
  keepTicket,
  takeTicket,
  raiseMark,
  refreshSession,
  endSession,
  endOtherSessions,
  forgetDeadSessions,
  addAccessToken,
  revokeAccessToken,
  revokeAccessTokens,
  noteAccessTokenUse,
}
