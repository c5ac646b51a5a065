import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../authn/authenticate.ts'
import { clientAddress, type SpecialGroups } from '../authn/special-groups.ts'
import type { Tokens } from '../authn/tokens.ts'
import type { Config } from '../config/config.ts'
import { prefixInUse } from '../http/addresses.ts'
import { cookiesOf, setCookie } from '../http/cookies.ts'
import type { Acting, Authenticated } from '../model/caller.ts'
import type { Bitstream } from '../model/items.ts'
import type { Accounts } from '../storage/accounts.ts'

const cookie = 'CARREL-LEASE'

/** Cookies of this name that are looked at: one is ours, others may have been planted. */
const maxCookies = 4

/** Another content is another download. */
const kindOf = ({ uuid, sha256 }: Pick<Bitstream, 'uuid' | 'sha256'>) => `lease/${uuid}/${sha256}` as const

interface Parts {
  readonly accounts: Accounts
  readonly config: Pick<Config, 'basePath' | 'baseUrl' | 'leaseLifetime'>
  readonly specialGroups: SpecialGroups
  readonly tokens: Tokens
}

/**
 * Leases (F3, docs/decisions/0013): a cookie that goes on opening one bitstream after the token that opened it has died,
 * so that a broken transfer can be resumed. It is a token whose key depends on the bitstream and its content, and so it ends
 * with the session like every other; the cookie's path is the bitstream's own address.
 */
export function createLeases({ accounts, config, specialGroups, tokens }: Parts) {
  const lifetime = config.leaseLifetime
  const secure = config.baseUrl.startsWith('https:') ? 'Secure; ' : ''
  return {
    /** Adds the cookie to the answer. */
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
      // Lax: a link or a download that begins elsewhere brings it along, a page elsewhere can't look what it opens.
      const attributes = `Path=${path}; Max-Age=${lifetime}; ${secure}HttpOnly; SameSite=Lax`
      setCookie(reply, cookie, `${lease}; ${attributes}`)
    },
    /** Whose lease of the bitstream came along; undefined where none that holds did. */
    holder: async (bitstream: Pick<Bitstream, 'uuid' | 'sha256'>, request: FastifyRequest) => {
      for (const value of cookiesOf(request, cookie).slice(0, maxCookies)) {
        const verified = await tokens.verify(kindOf(bitstream), value)
        if (verified) return callerOf(accounts, verified, specialGroups.ofAddress(clientAddress(request.ip)))
      }
      return undefined
    },
  }
}
