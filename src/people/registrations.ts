import type { FastifyInstance, FastifyRequest } from 'fastify'
import { passwordFault } from '../authn/password-rules.ts'
import type { Passwords } from '../authn/passwords.ts'
import type { Tickets } from '../authn/tickets.ts'
import type { Config } from '../config/config.ts'
import type { MailConfig } from '../config/parts.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { clientAddress } from '../lib/addresses.ts'
import { type Client, Overloaded } from '../lib/fair-queue.ts'
import { type Eperson, emailKey, passwordMethod } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { NewPerson } from '../model/people.ts'
import type { Trail } from '../storage/trail.ts'
import type { Mail, Mailer } from './mailer.ts'
import type { People } from './statements.ts'

/** Requests by mail that need no session: a new account, or a new password (docs/decisions/0045). */
export const registrationKinds = ['register', 'forgot'] as const
type RegistrationKind = (typeof registrationKinds)[number]

/** The login method that the audit trail names for a link in a mail. */
const mailMethod = 'mail'

/** The event of an action by the owner of an email address. */
export const mailEvent = (
  request: FastifyRequest,
  event: AuditEvent['event'],
  object: string | null = null,
): AuditEvent => ({
  event,
  outcome: 'success',
  eperson: null,
  actor: null,
  clientIp: clientAddress(request.ip),
  request: request.id,
  method: mailMethod,
  object,
  reason: null,
})

/** The request that a link in a mail stands for. */
interface Registration {
  readonly kind: RegistrationKind
  readonly email: string
  /** The eperson who forgot their password, and the stamp of that password; null for a new account. */
  readonly forgotten: { readonly eperson: string; readonly passwordStamp: number } | null
}

interface Registering extends Omit<NewPerson, 'passwordHash'> {
  readonly password: Buffer
}

interface Parts {
  readonly people: People
  readonly trail: Trail
  readonly config: MailConfig
  readonly mailer: Mailer
  readonly passwords: Passwords
  readonly tickets: Tickets
}

/** Seconds for which a link is valid. */
const lifetime = 3_600
/** Minimum time between two mails of one kind to one address, in seconds. */
const silence = 300
/** Maximum number of requests processed in the background. */
const maxPending = 1_000

/**
 * Creates registration and password recovery, if mail is configured and epersons can log in by password.
 * Without mail, its library is not loaded.
 */
export async function loadRegistrations(
  { mail, loginMethods }: Pick<Config, 'mail' | 'loginMethods'>,
  { app, ...parts }: Omit<Parts, 'config' | 'mailer'> & { readonly app: FastifyInstance },
): Promise<Registrations | undefined> {
  if (!mail || !loginMethods.includes(passwordMethod)) return undefined
  const { createMailer } = await import('./mailer.ts')
  const mailer = createMailer(mail, app.log)
  app.addHook('onClose', async () => mailer.close())
  return new Registrations({ ...parts, config: mail, mailer })
}

/** Registration and forgotten passwords, by links in mails. */
export class Registrations {
  readonly #parts: Parts
  #pending = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Tells an eperson by mail that a second factor of theirs has changed, in case that it wasn't them. */
  readonly tellOwner = (eperson: string, change: keyof typeof factorChanges): void => {
    // The change is done, and is in the audit trail, whether or not the store answers now.
    void this.#tell(eperson, change).catch(() => {})
  }

  async #tell(eperson: string, change: keyof typeof factorChanges): Promise<void> {
    const to = (await this.#parts.people.eperson(eperson))?.email
    if (to !== undefined) this.#parts.mailer.send({ ...factorMail(factorChanges[change]), to })
  }

  /**
   * Sends a mail in the background, if there is one to send; the caller doesn't learn if there is.
   * @throws Overloaded if too many requests wait already; Problem if this address may not register
   */
  request(kind: RegistrationKind, email: string, event: AuditEvent): void {
    if (kind === 'register') refuseDomain(email, this.#parts.config)
    if (this.#pending >= maxPending)
      throw new Overloaded('Too many registrations are worked on. Try again later.')
    this.#pending++
    void this.#answer(kind, email, event)
      // If the store fails, the person asks again, as for a lost mail.
      .catch(() => {})
      .finally(() => this.#pending--)
  }

  async #answer(kind: RegistrationKind, email: string, event: AuditEvent): Promise<void> {
    const { trail, people, config, mailer, tickets } = this.#parts
    const known = await people.credentials(email)
    await trail.record({ ...event, eperson: known?.uuid ?? null })
    if (!(await tickets.isFirst(`mail/${kind}`, emailKey(email), silence))) return
    const issue = async (registration: Registration) =>
      `${config.uiUrl}/${kind}/${await tickets.issue('registration', registration, lifetime)}`
    if (kind === 'register') {
      const text = known
        ? alreadyRegisteredMail(`${config.uiUrl}/forgot`)
        : registrationMail(await issue({ kind, email, forgotten: null }))
      mailer.send({ ...text, to: email })
    } else if (known?.enabled && known.passwordHash !== null) {
      // Sent to the account's own address: the typed one may differ from it in ways that don't show.
      const to = (await people.eperson(known.uuid))?.email
      const forgotten = { eperson: known.uuid, passwordStamp: known.passwordStamp }
      if (to !== undefined)
        mailer.send({ ...forgottenPasswordMail(await issue({ kind, email: to, forgotten })), to })
    }
  }

  /** Returns the request that a token stands for. @throws Problem 404 for an unknown, used or expired one */
  async find(token: string): Promise<Registration> {
    const found = await this.#parts.tickets.read<Registration>('registration', token)
    if (!found)
      throw new Problem('not-found', 'The token is unknown, or it was used, or it is older than one hour.')
    return found
  }

  /** Returns the address that a registration token was sent to. @throws Problem if the token is refused */
  async addressOf(token: string): Promise<string> {
    return (await this.#read(token, 'register')).email
  }

  async #read(token: string, kind: RegistrationKind): Promise<Registration> {
    const found = await this.#parts.tickets.read<Registration>('registration', token)
    if (found?.kind !== kind) throw refused()
    return found
  }

  /** Creates the eperson of a registration. @throws Problem if the token or the password is refused */
  async register(
    token: string,
    { email, password, ...person }: Registering,
    client: Client,
    event: AuditEvent,
  ): Promise<Eperson> {
    const { people, config } = this.#parts
    const found = await this.#read(token, 'register')
    if (emailKey(email) !== emailKey(found.email))
      throw new Problem('bad-request', 'The email address is not the one that the token was sent to.')
    refuseDomain(found.email, config)
    const passwordHash = await this.#hashed(password, found.email, client)
    await this.#take(token)
    const added = await people.createEperson(
      { ...person, email: found.email, enabled: true, passwordHash },
      event,
    )
    if (added === 'exists')
      throw new Problem('mail-token-refused', 'There is an account with this email address meanwhile.')
    return added
  }

  /** Sets a new password, which ends every session (T6). @throws Problem if it or the token is refused */
  async setPassword(
    token: string,
    eperson: string,
    password: Buffer,
    client: Client,
    event: AuditEvent,
  ): Promise<Eperson> {
    const { people } = this.#parts
    const { forgotten, email } = await this.#read(token, 'forgot')
    if (forgotten?.eperson !== eperson) throw refused()
    // An address that was removed from the account since, such as a stolen mailbox's, no longer opens it.
    const owner = await people.eperson(eperson)
    if (!owner || emailKey(owner.email) !== emailKey(email)) throw refused()
    const passwordHash = await this.#hashed(password, email, client)
    await this.#take(token)
    const checked = { uuid: eperson, passwordStamp: forgotten.passwordStamp }
    const known = await people.eperson(eperson)
    // Refused if the password has changed since the mail was sent, so that the link is not needed any more,
    // or if the account was disabled.
    if (
      !known?.enabled ||
      (await people.setPassword({ email: known.email }, passwordHash, event, checked)) !== 'changed'
    )
      throw refused()
    return known
  }

  async #hashed(password: Buffer, email: string, client: Client): Promise<string> {
    const fault = await passwordFault(password, email)
    if (fault !== undefined) throw new Problem('password-refused', `The new password ${fault}.`)
    return this.#parts.passwords.hash(password, client)
  }

  /** Uses up the token. Called after all other checks: a used token can't be used again. */
  async #take(token: string): Promise<void> {
    if (!(await this.#parts.tickets.take('registration', token))) throw refused()
  }
}

const refused = () =>
  new Problem('mail-token-refused', 'The token is unknown, or it was used, or it is older than one hour.')

/** @throws Problem if this address may not register */
function refuseDomain(email: string, { registration, registrationDomains: domains }: Parts['config']): void {
  if (!registration)
    throw new Problem('registration-refused', 'Nobody can register here. An administrator adds accounts.')
  const domain = emailKey(email).slice(email.lastIndexOf('@') + 1)
  if (domains.length > 0 && !domains.includes(domain))
    throw new Problem(
      'registration-refused',
      `Only email addresses of these domains can register: ${domains.join(', ')}.`,
    )
}

/** The mails that Carrel sends. Each says why it was sent and what happens if it is ignored. */
type Text = Omit<Mail, 'to'>

const ignored =
  'If this was not you, ignore this mail: nothing changes. Carrel did not tell them whether there is an account.'

const registrationMail = (link: string): Text => ({
  subject: 'Finish your registration',
  text: `Someone, probably you, wants to register with this email address.

To choose a password and finish, open this link within one hour:

${link}

It works once. ${ignored}
`,
})

/** Sent to people who register although they have an account. */
const alreadyRegisteredMail = (link: string): Text => ({
  subject: 'You have an account already',
  text: `Someone, probably you, wants to register with this email address. There is an account with it already.

If you forgot its password, ask for a new one here:

${link}

${ignored}
`,
})

const forgottenPasswordMail = (link: string): Text => ({
  subject: 'Choose a new password',
  text: `Someone, probably you, has forgotten the password of the account with this email address.

To choose a new one, open this link within one hour:

${link}

It works once, and ends every session of the account. ${ignored}
`,
})

/** The token from a mail, as DSpace's clients send it (docs/decisions/0045); undefined if there is none. */
export const mailToken = (request: FastifyRequest): string | undefined =>
  single(request.query as Query, 'token')

export const hasMailToken = (request: FastifyRequest): boolean => mailToken(request) !== undefined

const factorChanges = {
  added: 'A second factor was added to',
  removed: 'A second factor was removed from',
  reset: 'An administrator has removed all second factors from',
} as const

const factorMail = (change: string): Text => ({
  subject: 'The second factor of your account has changed',
  text: `${change} the account with this email address.

If this was you, or you asked for it, ignore this mail. If not, someone uses your account: choose a new password at once, which
ends every session, and tell those who look after the repository.
`,
})
