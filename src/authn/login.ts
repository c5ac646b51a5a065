import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { clientOf } from '../http/client.ts'
import type { Csrf } from '../http/csrf.ts'
import { isForm, parseForm } from '../http/form.ts'
import { Problem } from '../http/problems.ts'
import { clientAddress } from '../lib/addresses.ts'
import { passwordMethod } from '../model/accounts.ts'
import type { Accounts } from '../storage/accounts.ts'
import type { Clock } from '../storage/clock.ts'
import { eventOf, loginEvent } from './audit.ts'
import { refuseShortLivedToken } from './authenticate.ts'
import type { Passwords } from './passwords.ts'
import type { SpecialGroups } from './special-groups.ts'
import type { Throttle } from './throttle.ts'
import type { Tokens, Verified } from './tokens.ts'

interface Parts {
  readonly accounts: Accounts
  readonly clock: Clock
  readonly config: Pick<Config, 'tokenLifetime'>
  readonly csrf: Csrf
  readonly passwords: Passwords
  readonly specialGroups: SpecialGroups
  readonly throttle: Throttle
  readonly tokens: Tokens
  /** Whether epersons can log in by password. */
  readonly password: boolean
  /** Logins by single sign-on that are waiting for this request. */
  readonly trade: Trade | undefined
}

/** A finished login at an identity provider, which a cookie exchanges for a token (X2). */
export interface Trade {
  /** Who has logged in. The cookie stays valid. */
  waiting(request: FastifyRequest): Promise<Verified | undefined>
  /** Uses the cookie and clears it. @returns undefined if there is no cookie, or it is not valid any more */
  pickUp(request: FastifyRequest, reply: FastifyReply): Promise<Verified | undefined>
  /** Discards the login when the caller logs out. */
  drop(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

/** `POST /api/authn/login` (L1–L9): a password, a valid token or a finished single sign-on gives a new token. */
export function loginRoutes(app: FastifyInstance, parts: Parts): void {
  const { accounts, config, csrf, tokens } = parts

  app.route({
    method: 'POST',
    url: '/login',
    config: { actsOnlyAsItself: true },
    preParsing: refuseShortLivedToken,
    handler: async (request, reply) => {
      if (request.headers['x-on-behalf-of'] !== undefined)
        throw new Problem(
          'on-behalf-of-refused',
          'Nobody can log in as somebody else. Send X-On-Behalf-Of with the requests after the login.',
        )
      const form = readBody(request)
      if (form) return handOut(reply, await byPassword(parts, form, request))
      // Clients send a token on purpose; the cookie is sent by the browser.
      const tradesCookie = request.caller.kind === 'anonymous'
      const traded = tradesCookie ? await parts.trade?.pickUp(request, reply) : undefined
      return handOut(reply, traded ?? (await byToken(accounts, request)))
    },
  })

  function handOut(reply: FastifyReply, verified: Verified): FastifyReply {
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

async function byPassword(
  parts: Parts,
  form: ReadonlyMap<string, Buffer>,
  request: FastifyRequest,
): Promise<Verified> {
  const { accounts, clock, specialGroups, passwords, throttle } = parts
  if (!parts.password) throw new Problem('login-failed', 'Login by password is disabled.')
  const user = form.get('user')
  const password = form.get('password')
  if (!user || !password)
    throw new Problem('login-failed', 'The form must have the fields user and password.')

  const known = await accounts.credentials(user.toString())
  // Always one hash: for disabled accounts and those without a password, too (L5).
  const hash = known?.enabled ? known.passwordHash : null
  const { isRight, remark, client } = await throttle.verify({
    user: user.toString(),
    password,
    eperson: known?.uuid ?? null,
    hash,
    address: clientAddress(request.ip),
    client: clientOf(request),
  })
  let session: Verified['session'] | undefined
  if (isRight && known && hash !== null) {
    const renewedHash = passwords.isOutdated(hash) ? await passwords.hash(password, client) : null
    session = await accounts.recordLogin(
      { uuid: known.uuid, passwordStamp: known.passwordStamp, renewedHash },
      loginEvent(request, known.uuid, passwordMethod, 'success'),
    )
  } else {
    const event = loginEvent(request, known?.uuid ?? null, passwordMethod, 'failure')
    await accounts.recordEvent({ ...event, reason: remark })
  }
  if (!session) throw new Problem('login-failed', 'The email address or the password is wrong.')
  return {
    session,
    method: passwordMethod,
    sg: specialGroups.ofLogin(passwordMethod),
    begun: clock.now(),
  }
}

async function byToken(accounts: Accounts, request: FastifyRequest): Promise<Verified> {
  const { caller } = request
  if (caller.kind === 'anonymous')
    throw new Problem(
      'login-failed',
      'The request has no credentials (user and password as a form), no valid token, and no single sign-on of the last minute.',
    )
  await accounts.recordEvent(eventOf(caller, request, { event: 'refresh', outcome: 'success' }))
  return caller
}
