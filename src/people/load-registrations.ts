import type { FastifyInstance } from 'fastify'
import type { Passwords } from '../authn/passwords.ts'
import type { Tickets } from '../authn/tickets.ts'
import type { Config } from '../config/config.ts'
import { passwordMethod } from '../model/accounts.ts'
import type { People } from '../storage/people.ts'
import type { Trail } from '../storage/trail.ts'
import { createRegistrations, type Registrations } from './registrations.ts'

interface Parts {
  readonly app: FastifyInstance
  readonly people: People
  readonly passwords: Passwords
  readonly tickets: Tickets
  readonly trail: Trail
}

/**
 * Creates registration and password recovery, if mail is configured and epersons can log in by password.
 * Without mail, its library is not loaded.
 */
export async function loadRegistrations(
  { mail, loginMethods }: Pick<Config, 'mail' | 'loginMethods'>,
  { app, ...parts }: Parts,
): Promise<Registrations | undefined> {
  if (!mail || !loginMethods.includes(passwordMethod)) return undefined
  const { createMailer } = await import('./mailer.ts')
  const mailer = createMailer(mail, app.log)
  app.addHook('onClose', async () => mailer.close())
  return createRegistrations({ ...parts, config: mail, mailer })
}
