import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../authn/authenticate.ts'
import type { SpecialGroups } from '../authn/special-groups.ts'
import type { Tokens } from '../authn/tokens.ts'
import type { Config } from '../config/config.ts'
import { prefixInUse } from '../http/addresses.ts'
import { cookiesOf, setCookie } from '../http/cookies.ts'
import type { Acting, Authenticated } from '../model/caller.ts'
import type { Bitstream } from '../model/items.ts'
import type { Accounts } from '../model/people.ts'
import { isAllowed } from '../model/sessions.ts'
import type { Sessions } from '../storage/statements/sessions.ts'

const cookie = 'CARREL-LEASE'

/** Maximum number of cookies of this name that are checked: one is ours, others may have been planted. */
const maxCookies = 4

/** Names a kind of token for each content, because a changed content is another download. */
const kindOf = ({ uuid, sha256 }: Pick<Bitstream, 'uuid' | 'sha256'>) => `lease/${uuid}/${sha256}` as const

interface Parts {
  readonly people: Accounts
  readonly sessions: Sessions
  readonly config: Pick<Config, 'basePath' | 'baseUrl' | 'leaseLifetime'>
  readonly specialGroups: SpecialGroups
  readonly tokens: Tokens
}

/**
 * Leases (F3, docs/decisions/0013): a cookie that still opens one bitstream after the token that opened it
 * has expired, so that a broken transfer can be resumed. It is a token whose key depends on the bitstream and
 * its content, so it ends with the session like any other token. The cookie's path is the bitstream's URL.
 */
export function createLeases({ people, sessions, config, specialGroups, tokens }: Parts) {
  const lifetime = config.leaseLifetime
  const secure = config.baseUrl.startsWith('https:') ? 'Secure; ' : ''
  return {
    /** Adds the cookie to the response. */
    grant: async (
      caller: Authenticated | Acting,
      bitstream: Pick<Bitstream, 'uuid' | 'sha256'>,
      request: FastifyRequest,
      reply: FastifyReply,
    ): Promise<void> => {
      const kind = kindOf(bitstream)
      const lease =
        caller.kind === 'acting'
          ? await tokens.mintActing(kind, caller, lifetime)
          : tokens.mint(kind, caller, lifetime)
      const path = `${prefixInUse(config.basePath, request.originalUrl)}/core/bitstreams/${bitstream.uuid}/content`
      // Lax: a link or download from another site sends it, but a page of another site can't read what it opens.
      const attributes = `Path=${path}; Max-Age=${lifetime}; ${secure}HttpOnly; SameSite=Lax`
      setCookie(reply, cookie, `${lease}; ${attributes}`)
    },
    /**
     * Finds the caller whose lease of this bitstream the request has.
     * @returns undefined without a valid lease
     */
    holder: async (bitstream: Pick<Bitstream, 'uuid' | 'sha256'>, request: FastifyRequest) => {
      for (const value of cookiesOf(request, cookie).slice(0, maxCookies)) {
        const verified = await tokens.verify(kindOf(bitstream), value)
        if (verified && isAllowed(sessions.allowed(), verified))
          return callerOf(people, verified, await specialGroups.ofAddress(request.ip))
      }
      return undefined
    },
  }
}
