import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import type { Csrf } from '../http/csrf.ts'
import { isForm, parseForm } from '../http/form.ts'
import { Problem } from '../http/problems.ts'
import { passwordMethod } from '../model/accounts.ts'
import type { Accounts } from '../storage/accounts.ts'
import { eventOf, loginEvent } from './audit.ts'
import { refuseShortLivedToken } from './authenticate.ts'
import type { Passwords } from './passwords.ts'
import type { SpecialGroups } from './special-groups.ts'
import type { Tokens, Verified } from './tokens.ts'

interface Parts {
  readonly accounts: Accounts
  readonly config: Pick<Config, 'tokenLifetime'>
  readonly csrf: Csrf
  readonly passwords: Passwords
  readonly specialGroups: SpecialGroups
  readonly tokens: Tokens
  /** Whether there is a login by password. */
  readonly password: boolean
  /** What single sign-on has made ready for this browser. */
  readonly trade: Trade | undefined
}

/** A session that began at a provider and waits to be picked up with a cookie (X2). */
export interface Trade {
  /** Who is waited for; nothing is used up. */
  waiting(request: FastifyRequest): Promise<Verified | undefined>
  /** Trades the cookie and clears it. @returns undefined when there is none, or it opens nothing (any more) */
  pickUp(request: FastifyRequest, reply: FastifyReply): Promise<Verified | undefined>
  /** Whoever logs out doesn't want it any more. */
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
          'No token is made for someone else: send X-On-Behalf-Of with the requests that follow.',
        )
      const form = readBody(request)
      if (form) return handOut(reply, await byPassword(parts, form, request))
      // A token that is sent on purpose comes before a cookie that is sent anyway.
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
  const { accounts, passwords, specialGroups } = parts
  if (!parts.password) throw new Problem('login-failed', 'Logging in by password is switched off here.')
  const user = form.get('user')
  const password = form.get('password')
  if (!user || !password)
    throw new Problem('login-failed', 'The form must have both fields, user and password.')

  const known = await accounts.credentials(user.toString())
  // One hash whoever it is: disabled accounts, and those without a password, are compared with nothing (L5).
  const hash = known?.enabled ? known.passwordHash : null
  const right = await passwords.verify(password, hash)
  let session: Verified['session'] | undefined
  if (right && known && hash !== null) {
    const renewedHash = passwords.isOutdated(hash) ? await passwords.hash(password) : null
    session = await accounts.recordLogin(
      { uuid: known.uuid, passwordStamp: known.passwordStamp, renewedHash },
      loginEvent(request, known.uuid, passwordMethod, 'success'),
    )
  } else await accounts.recordEvent(loginEvent(request, known?.uuid ?? null, passwordMethod, 'failure'))
  if (!session) throw new Problem('login-failed', 'The e-mail address or the password is wrong.')
  return { session, method: passwordMethod, sg: specialGroups.ofLogin(passwordMethod) }
}

async function byToken(accounts: Accounts, request: FastifyRequest): Promise<Verified> {
  const { caller } = request
  if (caller.kind === 'anonymous')
    throw new Problem(
      'login-failed',
      'Neither credentials (user and password as a form), nor a valid token, nor a single sign-on of the last minute came with the request.',
    )
  await accounts.recordEvent(eventOf(caller, request, { event: 'refresh', outcome: 'success' }))
  return caller
}
