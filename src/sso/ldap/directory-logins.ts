import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { type DirectoryLogins, type Pending, underWay, type Vouched } from '../../authn/logins-under-way.ts'
import type { NewSessions } from '../../authn/new-sessions.ts'
import type { SpecialGroups } from '../../authn/special-groups.ts'
import type { Throttle } from '../../authn/throttle.ts'
import type { LdapConfig } from '../../config/providers.ts'
import { loginEvent } from '../../http/audit.ts'
import { Problem } from '../../http/problems.ts'
import type { FairQueue } from '../../lib/fair-queue.ts'
import { ldapMethod } from '../../model/accounts.ts'
import type { Identities } from '../../storage/statements/identities.ts'
import type { Sessions } from '../../storage/statements/sessions.ts'
import { Refused } from '../protocol.ts'
import { matchingOf, readIdentity } from '../read-identity.ts'
import { noteRefusal, refusals } from '../refusals.ts'
import { DirectoryUnavailable } from './connection.ts'
import { createDirectory, type Found, type Person } from './directory.ts'

export interface DirectoryParts {
  readonly sessions: Pick<Sessions, 'of'>
  readonly newSessions: NewSessions
  readonly directory: LdapConfig
  readonly identities: Identities
  readonly log: Pick<FastifyBaseLogger, 'warn'>
  /** The queue in which logins wait for a connection to the directory. */
  readonly queue: FairQueue
  readonly specialGroups: SpecialGroups
  readonly throttle: Throttle
}

/** The owner of a password that the directory has taken. */
type Owner =
  | { readonly kind: 'known'; readonly login: Pending<Vouched> }
  /** No login, with the eperson that the entry belongs to, if known. */
  | { readonly kind: 'refused'; readonly eperson: string | null }

/** Logins by passwords that an LDAP directory verifies (docs/decisions/0033). */
export function createDirectoryLogins(parts: DirectoryParts): DirectoryLogins {
  const { sessions, newSessions, directory: config, identities, log, queue, specialGroups, throttle } = parts
  const directory = createDirectory(config, log)
  const matching = matchingOf(config)

  /** The eperson that the entry seems to belong to, for counting guesses; nothing is proved yet. */
  async function epersonOf(found: Found): Promise<string | null> {
    const read = found.attributes && readIdentity(config, found.attributes)
    if (read === undefined || typeof read === 'string') return null
    return (await identities.whoIs(read.identity, matching)).eperson?.uuid ?? null
  }

  /** Finds, links or creates the eperson of an entry whose password was right. */
  async function ownerOf(person: Person, request: FastifyRequest): Promise<Owner> {
    const refuse = (why: string, eperson: string | null = null): Owner => {
      noteRefusal(request.log, config.id, why, person.names)
      return { kind: 'refused', eperson }
    }
    const read = readIdentity(config, person.attributes)
    if (typeof read === 'string') return refuse(read)
    const { identity, groups, emailIgnored } = read
    const event = loginEvent(request, null, ldapMethod, config.id)
    const found = await identities.recognize(identity, matching, event)
    const known = found.eperson && (await sessions.of(found.eperson.uuid))
    if (found.kind === 'refused' || !known) {
      const why = found.kind === 'refused' ? refusals[found.why] : refusals.disabled
      const ignored = emailIgnored === null ? '' : `; the e-mail address is ignored: ${emailIgnored}`
      return refuse(why + ignored, found.eperson?.uuid)
    }
    const session = { provider: config.id, name: identity.subject, sid: null, detail: {} }
    const sg = specialGroups.ofLogin(ldapMethod, groups)
    const login = { uuid: known.eperson.uuid, method: ldapMethod, sg, session }
    return { kind: 'known', login: underWay(login, known.sessionKey) }
  }

  return {
    verify: async (guess, password, request) => {
      await using turn = await throttle.turn({ ...guess, method: ldapMethod }, queue)
      let { eperson } = guess
      const bind = () =>
        directory.verify(guess.user, password, async found => {
          if (found) eperson = (await epersonOf(found)) ?? eperson
          // Guesses at an entry are counted together, however many names it has.
          await turn.count(found && { user: `${config.id}\0${found.dn}`, eperson })
        })
      const person = await bind().catch(error => {
        if (error instanceof DirectoryUnavailable) throw unavailable()
        if (!(error instanceof Refused)) throw error
        noteRefusal(request.log, config.id, error.message)
        return undefined
      })
      const owner: Owner = person ? await ownerOf(person, request) : { kind: 'refused', eperson }
      if (owner.kind === 'refused') {
        const event = loginEvent(request, owner.eperson, ldapMethod, config.id)
        await newSessions.fail({ ...event, reason: await turn.wrong() })
        return undefined
      }
      await turn.takeBack()
      return owner.login
    },
  }
}

/** Seconds after which a server may be back. */
const retryAfter = 10

const unavailable = () =>
  new Problem('directory-unavailable', 'The directory does not answer. Try again later.', {
    headers: { 'retry-after': String(retryAfter) },
  })
