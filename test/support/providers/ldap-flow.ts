import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Service, startService, temporaryFolder } from '../service/service.ts'
import { type Directory, type Entry, startDirectory } from './ldap-directory.ts'

export const people = 'ou=people,dc=example,dc=edu'
export const groups = 'ou=groups,dc=example,dc=edu'
export const account = { dn: 'cn=carrel,dc=example,dc=edu', password: 'of the account that searches' }

export const ruth = {
  user: 'ruth',
  password: 'correct horse',
  email: 'ruth@example.edu',
  dn: `uid=ruth,${people}`,
}

/** Returns the entry of a person. */
export const person = (uid: string, more: Partial<Entry> = {}): Entry => ({
  dn: `uid=${uid},${people}`,
  password: ruth.password,
  ...more,
  attributes: {
    uid: [uid],
    mail: [`${uid}@example.edu`],
    givenName: [uid.charAt(0).toUpperCase() + uid.slice(1)],
    sn: ['Example'],
    entryUUID: [`uuid of ${uid}`],
    ...more.attributes,
  },
})

export const entries: readonly Entry[] = [
  { dn: account.dn, password: account.password, attributes: { cn: ['carrel'] } },
  person('ruth', { attributes: { memberOf: [`cn=staff,${groups}`] } }),
  person('max'),
  { dn: `cn=curators,${groups}`, attributes: { cn: ['curators'], member: [ruth.dn] } },
]

/** A search for people by net id or email address. */
export const search = {
  base: people,
  filter: '(|(uid={user})(mail={user}))',
  bindDn: account.dn,
  bindPassword: { env: 'LDAP_PASSWORD' },
}

type Block = Readonly<Record<string, unknown>>

interface Setting {
  /** Changes to the tests' own provider; `undefined` removes a member. */
  readonly provider?: Block
  readonly singleSignOn?: Block
  readonly file?: Block
  readonly env?: Readonly<Record<string, string>>
}

/** Returns settings of a service that uses these servers. */
export function withDirectory(
  t: TestContext,
  servers: readonly string[],
  { provider = {}, singleSignOn = {}, file = {}, env = {} }: Setting = {},
) {
  const path = join(temporaryFolder(t, 'sqlite'), 'carrel.json')
  const own = { id: 'uni', kind: 'ldap', servers, startTls: false, create: true, search, timeout: 10 }
  writeFileSync(
    path,
    JSON.stringify({ singleSignOn: { providers: [{ ...own, ...provider }], ...singleSignOn }, ...file }),
  )
  return { CARREL_CONFIG: path, LDAP_PASSWORD: account.password, ...env }
}

export const addressOf = ({ port }: Pick<Directory, 'port'>): string => `ldap://127.0.0.1:${port}`

export interface Campus {
  readonly service: Service
  readonly directory: Directory
  /** @returns status and code */
  logIn(user?: string, password?: string): Promise<string>
}

export async function startCampus(t: TestContext, setting: Setting = {}): Promise<Campus> {
  const directory = await startDirectory(t, entries)
  const service = await startService(t, { env: withDirectory(t, [addressOf(directory)], setting) })
  return { service, directory, logIn: loginsTo(service) }
}

export const loginsTo =
  (service: Pick<Service, 'client'>) =>
  async (user: string = ruth.user, password: string = ruth.password): Promise<string> => {
    const response = await service.client().tryLogin(user, password)
    const text = await response.text()
    return text === '' ? String(response.status) : `${response.status} ${JSON.parse(text).code}`
  }

/** Returns the names of the people whose passwords were sent to the directory. */
export const boundTo = ({ asked }: Directory): readonly string[] =>
  asked.filter(({ kind, dn }) => kind === 'bind' && dn !== account.dn).map(({ dn }) => dn)
