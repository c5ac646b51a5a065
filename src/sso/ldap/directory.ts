import type { FastifyBaseLogger } from 'fastify'
import { ConfigError } from '../../config/file.ts'
import type { LdapConfig } from '../../config/providers.ts'
import { type Attributes, Refused } from '../protocol.ts'
import { type Connection, createServers } from './connection.ts'
import { type Entry, parseFilter, type Search, ServerFault } from './messages.ts'

/** An LDAP directory that verifies passwords (docs/decisions/0033). */
interface Directory {
  /**
   * Verifies a password.
   * @param admit called once before the password is sent, with what is known about the person by then
   * @returns undefined if no entry has the name, or the password is wrong
   * @throws DirectoryUnavailable; Refused if the password is right, but the directory doesn't reveal enough
   *   about the person
   */
  verify(
    user: string,
    password: Uint8Array,
    admit: (person: Found | undefined) => Promise<void>,
  ): Promise<Person | undefined>
}

/** An entry that stands for one person. */
export interface Found {
  readonly dn: string
  /** Undefined while the attributes are readable only by the person. */
  readonly attributes: Attributes | undefined
}

export interface Person extends Found {
  readonly attributes: Attributes
  /** The names of all attributes that the directory sent. */
  readonly names: readonly string[]
}

/** Maximum number of groups of a person. More would not fit into a token anyway. */
const maxGroups = 1_000

/**
 * Result codes that mean a wrong password, or an account that can't log in (RFC 4511 appendix A):
 * constraintViolation, noSuchObject, invalidDNSyntax, inappropriateAuthentication, invalidCredentials,
 * insufficientAccessRights, unwillingToPerform. Some servers use them for locked accounts.
 */
const refusingCodes: readonly number[] = [19, 32, 34, 48, 49, 50, 53]
const success = 0
const sizeLimitExceeded = 4

type Log = Pick<FastifyBaseLogger, 'warn'>

/** @throws ConfigError if a filter is malformed */
export function createDirectory(config: LdapConfig, log: Log): Directory {
  requireFilters(config)
  const servers = createServers(config, log)
  const attributes = wantedBy(config)

  async function read(connection: Connection, found: Entry): Promise<Entry> {
    if (config.find.kind === 'search') return found
    const filter = '(objectClass=*)'
    const [own] = await searchIn(connection, { base: found.dn, filter, scope: 'base', attributes, max: 1 })
    if (!own) throw new Refused('the person may not read their own entry')
    return own
  }

  async function groupsOf(connection: Connection, dn: string): Promise<readonly string[]> {
    const { find, groupSearch } = config
    if (groupSearch === null) return []
    // Groups are searched with the configured account; without one, as the person.
    if (find.kind === 'search' && find.account) await bindAccount(find, connection)
    const filter = groupSearch.filter.replaceAll('{dn}', () => escapeInFilter(dn))
    const place = {
      base: groupSearch.base,
      filter,
      scope: 'sub',
      attributes: ['1.1'],
      max: maxGroups,
    } as const
    const groups = await searchIn(connection, place)
    if (groups.length > maxGroups) throw new Refused(`the person is in more than ${maxGroups} groups`)
    return groups.map(group => group.dn)
  }

  return {
    verify: async (user, password, admit) => {
      let isAdmitted = false
      return servers.use(async connection => {
        const entry = await findIn(connection, config, user)
        if (entry === 'several')
          log.warn(
            { provider: config.id },
            'several entries of the directory match one name: nobody can log in with it',
          )
        const found = entry === 'several' ? undefined : entry
        // Counted once: if a server fails after this, the next one comes here again.
        if (!isAdmitted) await admit(found && { dn: found.dn, attributes: knownBefore(config, found) })
        isAdmitted = true
        const text = passwordText(password)
        if (!found || text === undefined) return undefined
        const code = await connection.bind(found.dn, text)
        if (refusingCodes.includes(code)) return undefined
        if (code !== success) throw new ServerFault(`it didn't take a password (result ${code})`)
        const own = await read(connection, found)
        const groups = await groupsOf(connection, own.dn)
        return {
          dn: found.dn,
          attributes: attributesOf(own, groups),
          names: [...own.attributes.keys(), ...(groups.length > 0 ? ['memberof'] : [])],
        }
      })
    },
  }
}

/** Finds the entry with a name. @returns the entry; without a search, only its DN; undefined if there is none */
export async function findIn(
  connection: Connection,
  config: LdapConfig,
  user: string,
): Promise<Entry | 'several' | undefined> {
  if (!isName(user)) return undefined
  const { find } = config
  if (find.kind === 'name')
    return { dn: find.dn.replace('{user}', () => escapeInDn(user)), attributes: new Map() }
  await bindAccount(find, connection)
  const filter = find.filter.replaceAll('{user}', () => escapeInFilter(user))
  const place = { base: find.base, filter, scope: 'sub', attributes: wantedBy(config), max: 1 } as const
  const [entry, another] = await searchIn(connection, place)
  // RFC 4513 §5.1.2: a bind with an empty DN would be anonymous, and succeed with any password.
  if (entry?.dn === '') return undefined
  return another ? 'several' : entry
}

/** The attributes known before the password is verified: those that a search has returned. */
const knownBefore = ({ find }: LdapConfig, entry: Entry): Attributes | undefined =>
  find.kind === 'search' ? attributesOf(entry, []) : undefined

/** Looks attributes up by name. Names are case-insensitive (RFC 4512 §2.5); `dn` stands for the DN of the entry. */
const attributesOf =
  (entry: Entry, groups: readonly string[]): Attributes =>
  given => {
    const name = given.toLowerCase()
    if (name === 'dn') return [entry.dn]
    const values = entry.attributes.get(name) ?? []
    return name === 'memberof' ? [...values, ...groups] : values
  }

const wantedBy = ({ attributes, groups, require }: LdapConfig): readonly string[] => {
  const names = [...Object.values(attributes), ...[...groups, ...require].map(rule => rule.attribute)]
  const wanted = [...new Set(names.filter(name => name.toLowerCase() !== 'dn'))]
  // RFC 4511 §4.5.1.8: `1.1` asks for no attributes; an empty list would ask for all.
  return wanted.length === 0 ? ['1.1'] : wanted
}

async function bindAccount(
  { account }: Extract<LdapConfig['find'], { kind: 'search' }>,
  connection: Connection,
): Promise<void> {
  if (account === null) return
  const code = await connection.bind(account.dn, account.password)
  if (code !== success) throw new ServerFault(`it refused the account of search.bindDn (result ${code})`)
}

async function searchIn(connection: Connection, search: Search): Promise<readonly Entry[]> {
  const { code, entries } = await connection.search(search)
  if (code !== success && !(code === sizeLimitExceeded && entries.length > search.max))
    throw new ServerFault(`it refused a search below ${search.base} (result ${code})`)
  return entries
}

function requireFilters({ find, groupSearch }: LdapConfig): void {
  const filters = [
    ['search', find.kind === 'search' ? find.filter : undefined],
    ['groupSearch', groupSearch?.filter],
  ] as const
  for (const [name, filter] of filters)
    try {
      if (filter !== undefined) parseFilter(filter)
    } catch {
      throw new ConfigError(
        `singleSignOn: ${name}.filter of the directory is not a filter such as (uid={user})`,
      )
    }
}

/**
 * True if the text can be a name. A directory ignores case, spaces at the ends and differences between
 * equivalent Unicode spellings (RFC 4518); allowing one spelling counts all guesses at an account together
 * (L8). Some servers end a text at NUL.
 */
const isName = (text: string): boolean =>
  text.length <= longest &&
  text.normalize('NFKC') === text &&
  /^[^\p{C}\p{Z}\uFFFD]+( [^\p{C}\p{Z}\uFFFD]+)*$/u.test(text)

const longest = 256

/** Escapes a value in a filter (RFC 4515 §3). */
const escapeInFilter = (text: string): string => text.replaceAll(/[\0()*\\]/g, hexPair)

/** Escapes a value in a DN (RFC 4514 §2.4). */
const escapeInDn = (text: string): string => text.replaceAll(/[\0"#+,;<=>\\]|^ | $/g, hexPair)

const hexPair = (character: string) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`

/**
 * Decodes a password for a bind. RFC 4513 §5.1.2: a server accepts any bind without a password. A server
 * written in C may take a password that begins with NUL for none.
 * @returns undefined if the password can't be right
 */
function passwordText(password: Uint8Array): string | undefined {
  const text = Buffer.from(password).toString()
  const isText = Buffer.from(text).equals(password)
  return text === '' || text.includes('\0') || !isText ? undefined : text
}
