import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { DirectoryLogins } from '../../authn/login.ts'
import { newSession } from '../../authn/session-age.ts'
import type { SpecialGroups } from '../../authn/special-groups.ts'
import type { Throttle } from '../../authn/throttle.ts'
import type { Proven } from '../../authn/tokens.ts'
import type { LdapConfig } from '../../config/providers.ts'
import { loginEvent } from '../../http/audit.ts'
import { clientOf } from '../../http/client.ts'
import { Problem } from '../../http/problems.ts'
import { clientAddress } from '../../lib/addresses.ts'
import type { FairQueue } from '../../lib/fair-queue.ts'
import { ldapMethod } from '../../model/accounts.ts'
import type { Clock } from '../../storage/clock.ts'
import type { Identities } from '../../storage/identities.ts'
import type { Sessions } from '../../storage/sessions.ts'
import type { Trail } from '../../storage/trail.ts'
import { Refused } from '../protocol.ts'
import { matchingOf, readIdentity } from '../read-identity.ts'
import { noteRefusal, refusals } from '../refusals.ts'
import { DirectoryUnavailable } from './connection.ts'
import { createDirectory, type Found, type Person } from './directory.ts'

export interface DirectoryParts {
  readonly sessions: Sessions
  readonly trail: Trail
  readonly clock: Clock
  readonly directory: LdapConfig
  readonly identities: Identities
  readonly log: Pick<FastifyBaseLogger, 'warn'>
  /** The queue in which logins wait for a connection to the directory. */
  readonly queue: FairQueue
  readonly specialGroups: SpecialGroups
  readonly throttle: Throttle
  /** Seconds. */
  readonly tokenLifetime: number
}

interface Outcome {
  readonly isRight: boolean
  readonly verified?: Proven
  /** The eperson that the entry belongs to, if known. */
  readonly eperson: string | null
}

/** Logins by passwords that an LDAP directory verifies (docs/decisions/0033). */
export function createDirectoryLogins(parts: DirectoryParts): DirectoryLogins {
  const { sessions, trail, clock, directory: config, identities, log, queue, specialGroups, throttle } = parts
  const directory = createDirectory(config, log)
  const matching = matchingOf(config)

  /** The eperson that the entry seems to belong to, for counting guesses; nothing is proved yet. */
  async function epersonOf(found: Found): Promise<string | null> {
    const read = found.attributes && readIdentity(config, found.attributes)
    if (read === undefined || typeof read === 'string') return null
    return (await identities.whoIs(read.identity, matching)).eperson?.uuid ?? null
  }

  async function begin(person: Person, request: FastifyRequest): Promise<Outcome> {
    const refuse = (why: string, eperson: string | null = null): Outcome => {
      noteRefusal(request.log, config.id, why, person.names)
      return { isRight: false, eperson }
    }
    const read = readIdentity(config, person.attributes)
    if (typeof read === 'string') return refuse(read)
    const { identity, groups, emailIgnored } = read
    const event = loginEvent(request, null, ldapMethod, 'success', config.id)
    const found = await identities.recognize(identity, matching, event)
    const known = found.eperson && (await sessions.of(found.eperson.uuid))
    if (found.kind === 'refused' || !known) {
      const why = found.kind === 'refused' ? refusals[found.why] : refusals.disabled
      const ignored = emailIgnored === null ? '' : `; the e-mail address is ignored: ${emailIgnored}`
      return refuse(why + ignored, found.eperson?.uuid)
    }
    const { uuid } = known.eperson
    const begun = await identities.begin(
      {
        begins: newSession(clock.now(), parts),
        uuid,
        sessionKey: known.sessionKey,
        session: { provider: config.id, name: identity.subject, sid: null, detail: {} },
      },
      { ...event, eperson: uuid, actor: uuid },
    )
    // The store has recorded the failed login: the eperson was logged out at this moment.
    if (!begun) throw new Problem('login-failed', 'A logout ended this login.')
    const verified = { ...begun, method: ldapMethod, sg: specialGroups.ofLogin(ldapMethod, groups) }
    return { isRight: true, verified, eperson: uuid }
  }

  return {
    logIn: async ({ user, password, eperson }, request) => {
      const guess = {
        user,
        eperson,
        method: ldapMethod,
        address: clientAddress(request.ip),
        client: clientOf(request),
      }
      const outcome = await throttle.verify(guess, (client, admit) =>
        queue.run(client, async (): Promise<Outcome> => {
          let whose = eperson
          try {
            const person = await directory.verify(user, password, async found => {
              if (found) whose = (await epersonOf(found)) ?? eperson
              // Guesses at an entry are counted together, however many names it has.
              await admit(found && { user: `${config.id}\0${found.dn}`, eperson: whose })
            })
            return person ? await begin(person, request) : { isRight: false, eperson: whose }
          } catch (error) {
            if (error instanceof DirectoryUnavailable) throw unavailable()
            if (!(error instanceof Refused)) throw error
            noteRefusal(request.log, config.id, error.message)
            return { isRight: false, eperson: whose }
          }
        }),
      )
      if (outcome.verified) return outcome.verified
      const event = loginEvent(request, outcome.eperson, ldapMethod, 'failure', config.id)
      await trail.record({ ...event, reason: outcome.remark })
      return undefined
    },
  }
}

/** Seconds after which a server may be back. */
const retryAfter = 10

const unavailable = () =>
  new Problem('directory-unavailable', 'The directory does not answer. Try again later.', {
    headers: { 'retry-after': String(retryAfter) },
  })
