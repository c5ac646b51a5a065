import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { changes, formOf, openRightTo, optional } from '../http/access.ts'
import { eventOf, loginEvent } from '../http/audit.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import type { Csrf } from '../http/csrf.ts'
import { isForm, parseForm } from '../http/form.ts'
import { objectIn } from '../http/json-body.ts'
import { Problem } from '../http/problems.ts'
import { createSameMachine } from '../http/same-machine.ts'
import { commandLineMethod, passwordMethod } from '../model/accounts.ts'
import type { Credentials, People } from '../storage/people.ts'
import type { Sessions } from '../storage/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { Proof } from './factor-proofs.ts'
import { keyIn, type Pending, type RightPassword, underWay } from './logins-under-way.ts'
import type { NewSessions } from './new-sessions.ts'
import { guessOf, type Passwords, provePassword } from './passwords.ts'
import type { SecondFactor } from './second-factor.ts'
import { newSession } from './session-age.ts'
import type { SpecialGroups } from './special-groups.ts'
import type { Guess, Throttle } from './throttle.ts'
import type { Tickets } from './tickets.ts'
import type { Proven, Tokens } from './tokens.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly people: People
  readonly newSessions: NewSessions
  readonly sessions: Pick<Sessions, 'refresh'>
  readonly clock: Clock
  readonly config: Pick<Config, 'baseUrl' | 'tokenLifetime' | 'trustedProxies'>
  readonly csrf: Csrf
  readonly passwords: Passwords
  readonly specialGroups: SpecialGroups
  readonly throttle: Throttle
  readonly tickets: Pick<Tickets, 'take'>
  readonly tokens: Tokens
  /** True if epersons can log in by a password kept in the store. */
  readonly password: boolean
  /** Verifies the passwords of all other users; undefined if no directory is configured. */
  readonly directory: DirectoryLogins | undefined
  readonly factorParts: { readonly secondFactor: SecondFactor }
  /** Finished single sign-ons that this request may trade for a token; undefined without single sign-on. */
  readonly trade: Trade | undefined
}

/** An LDAP directory that verifies passwords (docs/decisions/0033). */
export interface DirectoryLogins {
  /**
   * Verifies a password in a turn at the throttle, and begins a session or records the failure.
   * @returns undefined if the password is wrong, or belongs to no account
   * @throws Problem
   */
  logIn(
    guess: Omit<Guess, 'method'>,
    password: Uint8Array,
    request: FastifyRequest,
  ): Promise<Proven | undefined>
}

/** Finished logins at an identity provider, which a cookie exchanges for a token (X2). */
export interface Trade {
  /** Returns the login that the cookie stands for. The cookie stays valid. */
  waiting(request: FastifyRequest): Promise<Proven | undefined>
  /** Uses the cookie and clears it. @returns undefined if there is no cookie, or it is no longer valid */
  pickUp(request: FastifyRequest, reply: FastifyReply): Promise<Proven | undefined>
  /** Discards the login when the caller logs out. */
  drop(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

/**
 * `POST /api/authn/login` (L1–L11): a password, a valid token, a finished single sign-on or a login link gives
 * a new token.
 */
export function loginRoutes(app: FastifyInstance, parts: Parts): void {
  const { config, csrf, tokens } = parts
  const byLink = createByLink(parts)

  routesOf(app).route({
    method: 'POST',
    url: '/login',
    config: {
      ...route(
        'logIn',
        changes(
          openRightTo('log in with a password, a token or a single sign-on'),
          'none',
          optional(formOf()),
          { onBehalf: 'ignored' },
        ),
      ).config,
      refreshes: true,
    },
    handler: async (request, reply) => {
      if (request.headers['x-on-behalf-of'] !== undefined)
        throw new Problem(
          'on-behalf-of-refused',
          'Nobody can log in as another user. Send X-On-Behalf-Of with the requests after the login.',
        )
      const form = readBody(request)
      const link = form?.get('link')
      if (link) return handOut(reply, await byLink(link.toString(), request))
      if (form) return handOut(reply, await byForm(parts, form, request))
      // A token takes precedence over the cookie: clients send a token on purpose, but browsers send the
      // cookie by themselves.
      const tradesCookie = request.caller.kind === 'anonymous'
      const traded = tradesCookie ? await parts.trade?.pickUp(request, reply) : undefined
      if (traded) return handOut(reply, await afterSignOn(parts, traded, request))
      return handOut(reply, await byToken(parts, request))
    },
  })

  function handOut(reply: FastifyReply, verified: Proven): FastifyReply {
    csrf.issue(reply.request, reply)
    return reply
      .header('authorization', `Bearer ${tokens.mint('login', verified, config.tokenLifetime)}`)
      .send()
  }
}

/** @returns the form, or undefined for a body without parameters (L3) */
function readBody(request: FastifyRequest): ReadonlyMap<string, Buffer> | undefined {
  const body = request.body as Buffer | undefined
  if (body === undefined || body.length === 0) return undefined
  if (isForm(request)) {
    const form = parseForm(body)
    return form.size === 0 ? undefined : form
  }
  if (/^\s*\{\s*\}\s*$/.test(body.toString())) return undefined
  throw new Problem('unsupported-media-type', 'Send user and password as application/x-www-form-urlencoded.')
}

/** A password, the ticket that stands for one, or a passkey that stands alone; each with what proves a factor. */
async function byForm(
  parts: Parts,
  form: ReadonlyMap<string, Buffer>,
  request: FastifyRequest,
): Promise<Proven> {
  const { secondFactor } = parts.factorParts
  const ticket = form.get('ticket')
  if (ticket) return secondFactor.byTicket(ticket.toString(), proofIn(form), request)
  const passkey = form.has('user') ? undefined : form.get('webauthn')
  if (passkey) return secondFactor.byPasskey(objectIn(passkey, 'webauthn'), request)
  // Read before the account is looked up: a malformed proof gets one answer for all names (L5).
  return byPassword(parts, form, proofIn(form), request)
}

/** Reads what proves a factor. @throws Problem 400 */
function proofIn(form: ReadonlyMap<string, Buffer>): Proof | undefined {
  const [totp, recovery, webauthn] = [form.get('totp'), form.get('recovery'), form.get('webauthn')]
  if (totp) return { totp: totp.toString() }
  if (webauthn) return { webauthn: objectIn(webauthn, 'webauthn') }
  return recovery && { recovery: recovery.toString() }
}

async function byPassword(
  parts: Parts,
  form: ReadonlyMap<string, Buffer>,
  proof: Proof | undefined,
  request: FastifyRequest,
): Promise<Proven> {
  const { people, directory } = parts
  if (!parts.password && !directory) throw new Problem('login-failed', 'Login by password is disabled.')
  const [name, password] = [form.get('user'), form.get('password')]
  if (!name || !password)
    throw new Problem('login-failed', 'The form must have the fields user and password.')

  const user = name.toString()
  const known = await people.credentials(user)
  const eperson = known?.uuid ?? null
  const guess = guessOf(request, user, eperson)
  // A password goes either to the store's own check or to the directory, never to both, and this is decided
  // before either is asked.
  const isOwn = parts.password && known !== undefined && known.passwordHash !== null
  const verified =
    directory && !isOwn
      ? await byDirectory(parts, directory.logIn(guess, password, request), proof, request)
      : await byOwnPassword(parts, { guess, password, known, proof }, request)
  if (!verified)
    throw new Problem('login-failed', `The ${directory ? 'name' : 'email address'} or the password is wrong.`)
  return verified
}

/** Goes on with the login that a directory has begun. */
async function byDirectory(
  { factorParts }: Parts,
  logIn: Promise<Proven | undefined>,
  proof: Proof | undefined,
  request: FastifyRequest,
): Promise<Proven | undefined> {
  const vouched = await logIn
  return vouched && factorParts.secondFactor.afterProvider(vouched, proof, request)
}

/** Goes on with a finished single sign-on; its second step is a login with the ticket. */
async function afterSignOn({ factorParts }: Parts, traded: Proven, request: FastifyRequest): Promise<Proven> {
  const proven = await factorParts.secondFactor.afterProvider(traded, undefined, request)
  if (!proven) throw new Problem('login-failed', 'A logout ended this login.')
  return proven
}

interface Claim {
  readonly guess: Omit<Guess, 'method'>
  readonly password: Uint8Array
  readonly known: Credentials | undefined
  readonly proof: Proof | undefined
}

async function byOwnPassword(
  parts: Parts,
  { guess, password, known, proof }: Claim,
  request: FastifyRequest,
): Promise<Proven | undefined> {
  const { factorParts, newSessions, passwords } = parts
  // A login always costs one hash, even for disabled accounts and those without a password (L5).
  const hash = known?.enabled ? known.passwordHash : null
  return provePassword<Proven | undefined>(parts, guess, password, hash, {
    right: async ({ client }) => {
      if (!known || hash === null) throw new Error('a right password has an account')
      const renewedHash = passwords.isOutdated(hash) ? await passwords.hash(password, client) : null
      const { uuid, passwordStamp } = known
      const login = { uuid, passwordStamp, renewedHash }
      return factorParts.secondFactor.afterPassword(login, known, proof, request)
    },
    wrong: async reason => {
      await newSessions.fail({ ...loginEvent(request, guess.eperson, passwordMethod), reason })
      return undefined
    },
  })
}

/** Lifetime of a login link, in seconds. */
export const linkLifetime = 60

/**
 * Makes a link that logs an eperson in once, in a browser on the machine of the service (L11). The secret is in
 * the fragment of the address, which browsers send to no server.
 */
export async function issueLoginLink(
  tickets: Pick<Tickets, 'issue'>,
  baseUrl: string,
  { uuid, passwordStamp, sessionKey }: Pick<Credentials, 'uuid' | 'passwordStamp' | 'sessionKey'>,
): Promise<string> {
  const linked = underWay({ uuid, passwordStamp, renewedHash: null }, sessionKey)
  const secret = await tickets.issue('login-link', linked, linkLifetime)
  return `${baseUrl}/console/login#link=${secret}`
}

function createByLink({ config, newSessions, specialGroups, tickets }: Parts) {
  const isFromThisMachine = createSameMachine(config)
  const method = commandLineMethod
  return async (secret: string, request: FastifyRequest): Promise<Proven> => {
    // Requests from elsewhere use no link up, and leave no event: anyone could fill the trail with them.
    if (!isFromThisMachine(request.raw)) throw linkRefused()
    const linked = await tickets.take<Pending<RightPassword>>('login-link', secret)
    const event = loginEvent(request, linked?.uuid ?? null, method)
    const login = linked && { ...linked, sessionKey: keyIn(linked) }
    const begun = login && (await newSessions.byPassword(login, event, request))
    if (begun) return { ...begun, method, sg: specialGroups.ofLogin(method) }
    if (!linked) await newSessions.fail(event)
    throw linkRefused()
  }
}

const linkRefused = () =>
  new Problem(
    'login-failed',
    `A login link works once, for ${linkLifetime} seconds, and on the machine of the service. \`carrel open <email>\` makes another one.`,
  )

async function byToken(
  { clock, config, factorParts, sessions }: Parts,
  request: FastifyRequest,
): Promise<Proven> {
  const { caller } = request
  if (caller.kind === 'anonymous')
    throw new Problem(
      'login-failed',
      'The request has no credentials (user and password as a form), no valid token, and no single sign-on of the last minute.',
    )
  await factorParts.secondFactor.requireToRefresh(caller)
  const { session, begun } = caller
  // The token's session was looked up when the head of the request arrived.
  const { begun: used, expires } = newSession(clock.afterLookUp(), config)
  const refreshed = { begun, used, expires, stamp: session.stamp }
  const event = eventOf(caller, request, { event: 'refresh', outcome: 'success' })
  await sessions.refresh(refreshed, event)
  return caller
}
