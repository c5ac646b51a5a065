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
import type { Accounts, Credentials } from '../model/people.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { Proof } from './factor-proofs.ts'
import {
  type DirectoryLogins,
  keyIn,
  type Pending,
  type Ready,
  type RightPassword,
  type Trade,
  ticketRefused,
  underWay,
} from './logins-under-way.ts'
import type { NewSessions } from './new-sessions.ts'
import { guessOf, type Passwords, provePassword } from './passwords.ts'
import type { SecondFactor } from './second-factor.ts'
import { newSession } from './session-age.ts'
import type { Guess, Throttle } from './throttle.ts'
import type { Tickets } from './tickets.ts'
import type { Proven, Tokens } from './tokens.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly people: Accounts
  readonly newSessions: NewSessions
  readonly sessions: Pick<Sessions, 'refresh'>
  readonly clock: Clock
  readonly config: Pick<Config, 'baseUrl' | 'tokenLifetime' | 'trustedProxies'>
  readonly csrf: Csrf
  readonly passwords: Passwords
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

/**
 * `POST /api/authn/login` (L1–L18): a password, a valid token, a finished single sign-on, a passkey or a login link
 * gives a new token. All logins go one way: the proof, the factor, the session if the eperson may log in, the token
 * (docs/decisions/0090).
 */
export function loginRoutes(app: FastifyInstance, parts: Parts): void {
  const { config, csrf, tokens, trade } = parts
  const { secondFactor } = parts.factorParts
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
      const proven = form
        ? await byForm(form, request, reply)
        : ((await bySignOn(request, reply)) ?? (await byToken(parts, request)))
      csrf.issue(request, reply)
      return reply
        .header('authorization', `Bearer ${tokens.mint('login', proven, config.tokenLifetime)}`)
        .send()
    },
  })

  async function byForm(form: Form, request: FastifyRequest, reply: FastifyReply): Promise<Proven> {
    const link = form.get('link')
    const { login, refusal } = link
      ? await byLink(link.toString(), request)
      : await provedBy(parts, form, request)
    const begun = login && (await begin(parts, login, request, reply))
    if (!begun) throw refusal
    return begun
  }

  async function bySignOn(request: FastifyRequest, reply: FastifyReply): Promise<Proven | undefined> {
    // A token takes precedence over the cookie: clients send a token on purpose, but browsers send the
    // cookie by themselves.
    if (!trade || request.caller.kind !== 'anonymous') return undefined
    for await (const vouched of trade.pickUp(request, reply)) {
      const login = await secondFactor.check(vouched, undefined, undefined, request)
      const begun = login && (await begin(parts, login, request, reply))
      if (begun) return begun
    }
    return undefined
  }
}

type Form = ReadonlyMap<string, Buffer>

/** @returns the form, or undefined for a body without parameters (L3) */
function readBody(request: FastifyRequest): Form | undefined {
  const body = request.body as Buffer | undefined
  if (body === undefined || body.length === 0) return undefined
  if (isForm(request)) {
    const form = parseForm(body)
    return form.size === 0 ? undefined : form
  }
  if (/^\s*\{\s*\}\s*$/.test(body.toString())) return undefined
  throw new Problem('unsupported-media-type', 'Send user and password as application/x-www-form-urlencoded.')
}

/** The login that a form has proved, if any. */
interface Claim {
  /** Undefined if it has proved nothing, or what it has proved is void. */
  readonly login: Ready | undefined
  /** The answer if no session begins. */
  readonly refusal: Problem
}

/** A password, the ticket that stands for one, or a passkey that stands alone; each with what proves a factor. */
async function provedBy(parts: Parts, form: Form, request: FastifyRequest): Promise<Claim> {
  const { secondFactor } = parts.factorParts
  const ticket = form.get('ticket')
  if (ticket)
    return {
      login: await secondFactor.byTicket(ticket.toString(), proofIn(form), request),
      refusal: ticketRefused(),
    }
  const passkey = form.has('user') ? undefined : form.get('webauthn')
  if (passkey)
    return {
      login: await secondFactor.byPasskey(objectIn(passkey, 'webauthn'), request),
      refusal: new Problem(
        'login-failed',
        'The passkey is not valid here, or does not stand for a password.',
      ),
    }
  // Read before the account is looked up: a malformed proof gets one answer for all names (L5).
  return byPassword(parts, form, proofIn(form), request)
}

/** Reads what proves a factor. @throws Problem 400 */
function proofIn(form: Form): Proof | undefined {
  const [totp, recovery, webauthn] = [form.get('totp'), form.get('recovery'), form.get('webauthn')]
  if (totp) return { totp: totp.toString() }
  if (webauthn) return { webauthn: objectIn(webauthn, 'webauthn') }
  return recovery && { recovery: recovery.toString() }
}

async function byPassword(
  parts: Parts,
  form: Form,
  proof: Proof | undefined,
  request: FastifyRequest,
): Promise<Claim> {
  const { directory, factorParts, people } = parts
  if (!parts.password && !directory) throw new Problem('login-failed', 'Login by password is disabled.')
  const [name, password] = [form.get('user'), form.get('password')]
  if (!name || !password)
    throw new Problem('login-failed', 'The form must have the fields user and password.')

  const user = name.toString()
  const known = await people.credentials(user)
  const guess = guessOf(request, user, known?.uuid ?? null)
  // A password goes either to the store's own check or to the directory, never to both, and this is decided
  // before either is asked.
  const isOwn = parts.password && known !== undefined && known.passwordHash !== null
  const vouching = isOwn ? undefined : directory
  const right = vouching
    ? await vouching.verify(guess, password, request)
    : await verified(parts, guess, password, known, request)
  const wrong = `The ${directory ? 'name' : 'email address'} or the password is wrong.`
  const refusal = new Problem('login-failed', right && vouching ? 'A logout ended this login.' : wrong)
  const hasFactor = vouching ? undefined : known?.hasFactor
  const login = right && (await factorParts.secondFactor.check(right, hasFactor, proof, request))
  return { login, refusal }
}

/** Verifies a password that the store knows, and records a failure. */
async function verified(
  parts: Parts,
  guess: Omit<Guess, 'method'>,
  password: Uint8Array,
  known: Credentials | undefined,
  request: FastifyRequest,
): Promise<Pending<RightPassword> | undefined> {
  const { newSessions, passwords } = parts
  // A login always costs one hash, even for disabled accounts and those without a password (L5).
  const hash = known?.enabled ? known.passwordHash : null
  return provePassword<Pending<RightPassword> | undefined>(parts, guess, password, hash, {
    right: async ({ client }) => {
      if (!known || hash === null) throw new Error('a right password has an account')
      const renewedHash = passwords.isOutdated(hash) ? await passwords.hash(password, client) : null
      const { uuid, passwordStamp, sessionKey } = known
      return underWay({ uuid, passwordStamp, renewedHash }, sessionKey)
    },
    wrong: async reason => {
      await newSessions.fail({ ...loginEvent(request, guess.eperson, passwordMethod), reason })
      return undefined
    },
  })
}

/** Begins the session, if the eperson may log in. */
async function begin(
  { newSessions, trade }: Parts,
  login: Ready,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Proven | undefined> {
  const begun = await newSessions.beginFor(login, request)
  if (begun && 'session' in login) trade?.remember(login.session, reply)
  return begun
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

function createByLink({ config, newSessions, tickets }: Parts) {
  const isFromThisMachine = createSameMachine(config)
  return async (secret: string, request: FastifyRequest): Promise<Claim> => {
    const refusal = linkRefused()
    // Requests from elsewhere use no link up, and leave no event: anyone could fill the trail with them.
    if (!isFromThisMachine(request.raw)) throw refusal
    const linked = await tickets.take<Pending<RightPassword>>('login-link', secret)
    if (linked) return { login: { ...linked, sessionKey: keyIn(linked), method: commandLineMethod }, refusal }
    await newSessions.fail(loginEvent(request, null, commandLineMethod))
    throw refusal
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
