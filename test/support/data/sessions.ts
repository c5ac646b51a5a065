import assert from 'node:assert/strict'
import { createTickets } from '../../../src/authn/tickets.ts'
import { createTokens } from '../../../src/authn/tokens.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import type { NewSession } from '../../../src/model/sessions.ts'
import type { Service } from '../service/service.ts'

/** Returns a session that begins now, for logins that tests record directly in the store. */
export const beginsNow = (): NewSession => ({ begun: Date.now(), expires: Date.now() + 600_000 })

/** Logs in through the store alone, whatever the password is. @returns the token of the session */
export async function sessionLogin({ storage, config }: Service, email: string): Promise<string> {
  const { people, sessions, clock, identities, secrets } = storage
  const known = await people.credentials(email)
  assert.ok(known)
  const { uuid, passwordStamp } = known
  const login = { uuid, passwordStamp, renewedHash: null, begins: beginsNow() }
  const event = { ...commandEvent('login'), eperson: uuid, method: 'command-line' }
  const begun = await sessions.begin(login, event)
  assert.ok(begun)
  const tokens = createTokens({
    sessions,
    clock,
    config,
    keyring: secrets.current,
    loginMethods: [],
    tickets: createTickets(identities, clock),
    mayAct: false,
    measures: { tokenRefused: () => {} },
  })
  return tokens.mint('login', { ...begun, method: 'command-line', sg: [] }, 600)
}

/** Returns the start of the session of a login token, which is the session's id. */
export function begunOf(token: string): string {
  const header = Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()
  return (JSON.parse(header) as { kid: string }).kid
}
