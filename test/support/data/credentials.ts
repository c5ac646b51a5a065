import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { TOTP } from 'otpauth'
import { issueLoginLink } from '../../../src/authn/login.ts'
import { createTickets } from '../../../src/authn/tickets.ts'
import { bearerOf, type Client } from '../clients/client.ts'
import { type Catcher, startSmtpCatcher } from '../providers/smtp-catcher.ts'
import { type Service, startService } from '../service/service.ts'
import { until } from '../service/waiting.ts'
import { asked, challenge, enrolPasskey, factorsPath, passwordForm, sendJson, tryLogin } from './factors.ts'
import { contentOf, membersOf, putItem } from './repository.ts'
import { tokensOf } from './sessions.ts'

/** Everything by which a request can be somebody's, made for people whose rights a test ends. */

/** An address at which there are passkeys and login links. */
const origin = 'http://localhost:8080'
const ui = 'https://ui.example.edu'
const readers = 'readers'
const json = { 'content-type': 'application/json' }
/** Lifetime in seconds of tokens that live for two over HTTP, so that no pace of the machine ends them. */
const longEnough = 600

/** `no right`: it still says whose it is, and no longer opens the file. */
export type State = 'good' | 'no right' | 'ended'
type Look = () => Promise<State>

export interface Person {
  readonly email: string
  readonly uuid: string
  /** The group whose member they are. */
  readonly group: string
  /** The session that asks for an ending, and another one. */
  readonly own: Client
  readonly other: Client
  readonly factor?: Awaited<ReturnType<typeof enrolPasskey>>
  /** Recovery codes that are left. */
  readonly codes: string[]
  /** The token of the mail for a forgotten password. */
  mailed?: string
}

export interface World {
  readonly service: Service
  readonly catcher: Catcher
  /** The path of a file that members of a group may read. */
  readonly file: string
  /** An administrator who ends the rights of others. */
  readonly root: Person
  /** Has a second factor. */
  readonly ruth: Person
  /** Has one, and is an administrator. */
  readonly ada: Person
  /** Has to enrol one. */
  readonly otto: Person
  /** On whose behalf administrators act, beside Ruth's. */
  readonly pip: string
}

export async function startWorld(t: TestContext): Promise<World> {
  const catcher = await startSmtpCatcher(t)
  const service = await startService(t, {
    env: {
      CARREL_BASE_URL: origin,
      CARREL_LOGIN_ON_BEHALF_OF: 'true',
      CARREL_MAIL_FROM: 'archive@example.edu',
      CARREL_SECOND_FACTOR: 'everybody',
      CARREL_SMTP_URL: catcher.url,
      CARREL_UI_URL: ui,
    },
  })
  const { uuid: pip } = await service.addEperson('pip@example.org', { groups: [readers] })
  const { bitstreams } = await putItem(service, 'i', membersOf(readers), [{ name: 'a.txt' }])
  const [bitstream] = bitstreams
  assert.ok(bitstream)
  return {
    ...{ service, catcher, pip, file: contentOf(bitstream) },
    root: await withFactor(service, 'root@example.org', true),
    ruth: await withFactor(service, 'ruth@example.org'),
    ada: await withFactor(service, 'ada@example.org', true),
    otto: await withoutFactor(service, 'otto@example.org'),
  }
}

const ticketIn = async (answer: Response) => ((await answer.json()) as { ticket: string }).ticket
const askTicket = async ({ service }: Pick<World, 'service'>, email: string) =>
  ticketIn(await tryLogin(service.client(), passwordForm(email)))

async function withFactor(service: Service, email: string, admin = false): Promise<Person> {
  const { uuid } = await service.addEperson(email, admin ? { admin } : { groups: [readers] })
  const [own, other] = [service.client(), service.client()]
  const given = { alone: true, ticket: await askTicket({ service }, email) }
  const factor = await enrolPasskey(own, given, origin)
  own.token = bearerOf(await tryLogin(own, { ticket: factor.ticket ?? '' }))
  const codes = [...(factor.recoveryCodes ?? [])]
  other.token = bearerOf(await tryLogin(other, { ...passwordForm(email), recovery: codes.pop() ?? '' }))
  return { email, uuid, group: admin ? 'Administrator' : readers, own, other, factor, codes }
}

async function withoutFactor(service: Service, email: string): Promise<Person> {
  const { uuid } = await service.addEperson(email, { groups: [readers] })
  const [own, other] = [await byLink(service, email), await byLink(service, email)]
  return { email, uuid, group: readers, own, other, codes: [] }
}

/** @returns the secret of a new login link */
async function linkOf({ config, storage }: Service, email: string): Promise<string> {
  const known = await storage.people.credentials(email)
  assert.ok(known)
  const tickets = createTickets(storage.identities, storage.clock)
  return (await issueLoginLink(tickets, config.baseUrl, known)).split('#link=')[1] ?? ''
}

/** Begins a session that asks for no factor, whichever sessions have ended (L11). */
export async function byLink(service: Service, email: string): Promise<Client> {
  const client = service.client()
  client.token = bearerOf(await tryLogin(client, { link: await linkOf(service, email) }))
  return client
}

/** Returns the token of a mail for a forgotten password, which is asked for once. */
export async function mailedTo({ service, catcher }: World, person: Person): Promise<string> {
  if (person.mailed !== undefined) return person.mailed
  const { email } = person
  const asks = JSON.stringify({ email, type: 'registration' })
  const path = '/api/eperson/registrations?accountRequestType=forgot'
  assert.equal((await service.client().post(path, asks, json)).status, 201)
  const begin = `${ui}/forgot/`
  const link = await until('the mail', () =>
    catcher.mails
      .flatMap(({ to, links }) => (to.includes(email) ? links : []))
      .find(one => one.startsWith(begin)),
  )
  person.mailed = link?.slice(begin.length) ?? ''
  return person.mailed
}

export const choosePassword = (client: Client, uuid: string, token: string) =>
  sendJson(
    client,
    `/api/eperson/epersons/${uuid}?token=${token}`,
    [{ op: 'add', path: '/password', value: { new_password: 'quite another one' } }],
    'patch',
  )

const recoveryOf = ({ codes }: Person) => codes.pop() ?? assert.fail('a recovery code is left')
const goodIf = (isGood: boolean): State => (isGood ? 'good' : 'ended')
const logsIn = async (client: Client, form: Readonly<Record<string, string>>) =>
  goodIf((await tryLogin(client, form)).status === 200)

/** Looks if a token opens the file, and otherwise if it still says whose it is. */
const tokenLook =
  ({ service, file }: World, asBearer: string | undefined, asParameter?: string): Look =>
  async () => {
    const headers: Record<string, string> = asBearer ? { authorization: `Bearer ${asBearer}` } : {}
    const end = asParameter === undefined ? '' : `?authentication-token=${asParameter}`
    const client = service.client()
    if ((await client.get(`${file}${end}`, headers)).status === 200) return 'good'
    const { authenticated } = await client.status(`/api/authn/status${end}`, headers)
    return authenticated ? 'no right' : 'ended'
  }

async function shortLived(world: World, { token }: Client): Promise<Look> {
  const tokens = tokensOf(world.service)
  const verified = await tokens.verify('login', token ?? '')
  assert.ok(verified)
  return tokenLook(world, undefined, tokens.mint('short-lived', verified, longEnough))
}

async function acting(world: World, actor: Person, uuid: string): Promise<Look> {
  const tokens = tokensOf(world.service)
  const verified = await tokens.verify('login', actor.other.token ?? '')
  const session = await world.service.storage.sessions.of(uuid)
  assert.ok(verified && session)
  const caller = { ...verified, kind: 'acting', sg: [], specialGroups: [], reason: null } as const
  const made = { ...caller, session, actor: verified.session }
  return tokenLook(world, undefined, await tokens.mintActing('short-lived', made, longEnough))
}

async function lease(world: World, client: Client): Promise<Look> {
  const answer = await client.get(world.file)
  assert.equal(answer.status, 200)
  const cookie = answer.headers.getSetCookie().find(one => one.startsWith('CARREL-LEASE='))
  assert.ok(cookie)
  return async () => {
    const { status } = await world.service.client().get(world.file, { cookie: cookie.split(';')[0] ?? '' })
    return status === 200 ? 'good' : status === 403 ? 'no right' : 'ended'
  }
}

/** Begins to enrol an app. The look finishes it: in a new session, so that none but the enrolment can have ended. */
async function enrolment({ service }: World, by: Client, { uuid }: Person, given: object): Promise<Look> {
  const wanted = { kind: 'totp', name: 'My phone', ...given }
  const path = `${factorsPath}/enrolments`
  const begun = await asked<{ enrolment: string; secret: string }>(by, path, wanted, 201)
  return async () => {
    const person = await service.storage.people.eperson(uuid)
    if (!person?.enabled) return 'ended'
    const session = 'proof' in given ? await byLink(service, person.email) : by
    const totp = new TOTP({ secret: begun.secret }).generate()
    return goodIf((await sendJson(session, factorsPath, { enrolment: begun.enrolment, totp })).status === 201)
  }
}

/** Asks for the challenge of a proof. The look answers it in the same session. */
async function proof(client: Client, { factor }: Person): Promise<Look> {
  assert.ok(factor)
  const options = await challenge(client, { purpose: 'proof' })
  return async () => {
    const changed = { name: 'My laptop', proof: { webauthn: factor.device.get(options) } }
    return goodIf((await sendJson(client, `${factorsPath}/${factor.id}`, changed, 'patch')).status === 200)
  }
}

/** Everything that can be ended, in the order in which it is looked at: the last looks change the most. */
export const credentials = {
  'own session': async w => tokenLook(w, w.ruth.own.token),
  'own short-lived token': w => shortLived(w, w.ruth.own),
  'own lease': w => lease(w, w.ruth.own),
  'own challenge': w => proof(w.ruth.own, w.ruth),
  'other session': async w => tokenLook(w, w.ruth.other.token),
  'other short-lived token': w => shortLived(w, w.ruth.other),
  'other lease': w => lease(w, w.ruth.other),
  'other challenge': w => proof(w.ruth.other, w.ruth),
  'access token': async w => {
    const { token } = await asked<{ token: string }>(w.ruth.other, '/api/authn/tokens', { name: 'job' }, 201)
    return tokenLook(w, token)
  },
  'token of an administrator who acts as them': w => acting(w, w.root, w.ruth.uuid),
  'token of theirs as somebody': w => acting(w, w.ada, w.pip),
  'ticket of a second step': async w => {
    const ticket = await askTicket(w, w.ruth.email)
    return () => logsIn(w.service.client(), { ticket, recovery: recoveryOf(w.ruth) })
  },
  'challenge of a second step': async w => {
    const ticket = await askTicket(w, w.ruth.email)
    const options = await challenge(w.service.client(), { ticket })
    const answer = () => JSON.stringify(w.ruth.factor?.device.get(options))
    return () => logsIn(w.service.client(), { ticket, webauthn: answer() })
  },
  'challenge of a passkey alone': async w => {
    const options = await challenge(w.service.client())
    const answer = () => JSON.stringify(w.ruth.factor?.device.get(options))
    return () => logsIn(w.service.client(), { webauthn: answer() })
  },
  'ticket that must enrol': async w => {
    const begin = { kind: 'totp', name: 'Mine', ticket: await askTicket(w, w.otto.email) }
    return async () =>
      goodIf((await sendJson(w.service.client(), `${factorsPath}/enrolments`, begin)).status === 201)
  },
  'login link': async w => {
    const link = await linkOf(w.service, w.ruth.email)
    return () => logsIn(w.service.client(), { link })
  },
  'own enrolment': async w => enrolment(w, w.ruth.own, w.ruth, { proof: { recovery: recoveryOf(w.ruth) } }),
  'other enrolment': async w =>
    enrolment(w, w.ruth.other, w.ruth, { proof: { recovery: recoveryOf(w.ruth) } }),
  'enrolment of a login': async w =>
    enrolment(w, w.service.client(), w.otto, { ticket: await askTicket(w, w.otto.email) }),
  'mailed link': async w => {
    const token = await mailedTo(w, w.ruth)
    return async () => goodIf((await choosePassword(w.service.client(), w.ruth.uuid, token)).status === 200)
  },
} satisfies Readonly<Record<string, (world: World) => Promise<Look>>>

export type Credential = keyof typeof credentials
