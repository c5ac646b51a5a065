import assert from 'node:assert/strict'
import { createTickets } from '../../../src/authn/tickets.ts'
import { createTokens, type Tokens } from '../../../src/authn/tokens.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import { factorMethods } from '../../../src/model/factors.ts'
import type { NewSession } from '../../../src/storage/statements/sessions.ts'
import type { Service } from '../service/service.ts'

/** Returns a session that begins now, for logins that tests record directly in the store. */
export const beginsNow = (): NewSession => ({ begun: Date.now(), expires: Date.now() + 600_000 })

/** Returns the tokens of a service, of which a test may make some that live longer than those over HTTP. */
export const tokensOf = ({ storage, config }: Service): Tokens =>
  createTokens({
    sessions: storage.sessions,
    clock: storage.clock,
    config,
    keyring: storage.secrets.current,
    loginMethods: [...config.loginMethods, ...factorMethods(config.secondFactor)],
    tickets: createTickets(storage.identities, storage.clock),
    mayAct: config.loginOnBehalfOf,
    measures: { tokenRefused: () => {} },
  })

/** Logs in through the store alone, whatever the password is. @returns the token of the session */
export async function sessionLogin(service: Service, email: string): Promise<string> {
  const { people, sessions } = service.storage
  const known = await people.credentials(email)
  assert.ok(known)
  const { uuid, passwordStamp } = known
  const login = { uuid, passwordStamp, renewedHash: null, begins: beginsNow() }
  const event = { ...commandEvent('login'), eperson: uuid, method: 'command-line' }
  const begun = await sessions.begin(login, event)
  assert.ok(begun)
  return tokensOf(service).mint('login', { ...begun, method: 'command-line', sg: [] }, 600)
}

/** Returns the start of the session of a login token, which is the session's id. */
export function begunOf(token: string): string {
  const header = Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()
  return (JSON.parse(header) as { kid: string }).kid
}
