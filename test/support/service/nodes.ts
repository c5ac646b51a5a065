import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  Agent,
  type ClientRequest,
  get,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
} from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { commandEvent } from '../../../src/cli/store.ts'
import { type ClientLimits, patiently } from '../../../src/storage/postgres/errors.ts'
import { derivedKey, signedHere } from '../clients/jwt.ts'
import { beginsNow } from '../data/sessions.ts'
import { atEnd } from './at-end.ts'
import { createDatabase, runSql, serverUrl } from './databases.ts'
import { databaseOf, useDatabase } from './engines.ts'
import { type Service, type StartOptions, startService, temporaryFolder } from './service.ts'
import { patience, until } from './waiting.ts'

interface DatabaseOptions {
  /** The default isolation level of the database. */
  readonly isolation?: string
  /** The default collation of the database, such as that of a language instead of code points. */
  readonly locale?: string
}

interface NodesOptions extends DatabaseOptions, Pick<StartOptions, 'env' | 'limits'> {}

/**
 * Starts services on a new database: the first creates the schema, the others then start at the same time.
 */
export async function startNodes(t: TestContext, count: number, options: NodesOptions = {}) {
  const { dataFolder, url } = await newDatabase(t, options)
  const { env = {}, limits = {} } = options
  const first = await startService(t, { dataFolder, env, limits })
  const others = await times(count - 1, () => startService(t, { dataFolder, env, limits }))
  return { nodes: [first, ...others], url }
}

export async function startNode(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
  limits: Partial<ClientLimits> = {},
) {
  const { nodes, url } = await startNodes(t, 1, { env, limits })
  return { node: anyOf(nodes), url }
}

/** Creates a database that no service has used yet. @returns it with the folder that stands for it */
export async function newDatabase(t: TestContext, { isolation, locale }: DatabaseOptions) {
  const dataFolder = temporaryFolder(t, 'sqlite')
  // An empty database, which the first service turns into a store.
  useDatabase(t, dataFolder, createDatabase)
  const url = await databaseOf(dataFolder)
  assert.ok(url)
  const name = new URL(url).pathname.slice(1)
  if (locale !== undefined) {
    const server = await serverUrl()
    await runSql(server, `DROP DATABASE ${name}`)
    await runSql(
      server,
      `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE '${locale}'`,
    )
  }
  if (isolation !== undefined)
    await runSql(url, `ALTER DATABASE ${name} SET default_transaction_isolation = '${isolation}'`)
  return { dataFolder, url }
}

export const times = <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)))

export function anyOf<T>(all: readonly T[]): T {
  const one = all[Math.floor(Math.random() * all.length)]
  assert.ok(one !== undefined)
  return one
}

// Tokens -----------------------------------------------------------------------------------------------------

/** Like `quickLogin`, and tries again while the store is too busy. */
export const quickLoginPatiently = (node: Service, email: string): Promise<string> =>
  patiently(patience, () => quickLogin(node, email))

/**
 * Logs in without the time that a password takes: the store's part of a login, with a token signed as T5
 * requires.
 */
export async function quickLogin({ storage }: Service, email: string): Promise<string> {
  const known = await storage.people.credentials(email)
  assert.ok(known)
  const { uuid, passwordStamp } = known
  const event = { ...commandEvent('login'), eperson: uuid, method: 'password' } as const
  const login = { uuid, passwordStamp, renewedHash: null, begins: beginsNow() }
  const begun = await storage.sessions.begin(login, event)
  const [secret] = storage.secrets.current()
  assert.ok(begun && secret)
  const claims = { eid: uuid, sg: [], exp: Math.floor(Date.now() / 1000) + 600 }
  return signedHere(
    JSON.stringify(claims),
    derivedKey(secret, 'login/password', begun.session.sessionKey),
    begun.begun,
  )
}

/** Adds an administrator. @returns a token for them */
export async function adminOf(node: Service): Promise<string> {
  await node.addEperson('root@example.org', { admin: true, password: null })
  return quickLogin(node, 'root@example.org')
}

export const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` })

export interface Answered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Parameters sent as a form. */
  readonly form?: URLSearchParams | undefined
  readonly body?: string
}

/** Keeps connections open for reuse, because `fetch` would cost more than the service. */
const agent = new Agent({ keepAlive: true })

/** Sends a request, and reads the whole answer. */
export async function ask({ address }: Service, path: string, asked: Asked = {}): Promise<Answered> {
  const { method = 'GET', form, body } = asked
  const type = form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}
  const sent = request(address + path, { agent, method, headers: { ...type, ...asked.headers } })
  sent.end(form?.toString() ?? body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) }
}

/** Like `ask`, and tries again while the store is too busy, sooner than E2 advises. */
export async function askPatiently(node: Service, path: string, asked: Asked = {}): Promise<Answered> {
  return until(
    `an answer to ${path} that is not 503`,
    () => ask(node, path, asked),
    answer => {
      if (answer.status === 503) assertUnavailable(answer)
      return answer.status !== 503
    },
  )
}

/** True if the status shows the token's eperson as logged in. */
export async function isAccepted(node: Service, token: string, asking = ask): Promise<boolean> {
  return isAuthenticated(await asking(node, '/api/authn/status', { headers: bearer(token) }))
}

export function isAuthenticated(answer: Answered): boolean {
  assert.equal(answer.status, 200, answer.text)
  return (JSON.parse(answer.text) as { authenticated: boolean }).authenticated
}

/** Asserts that the answer says that the store is too busy, and when to try again (E2). */
export function assertUnavailable(answer: Answered): void {
  assert.equal(answer.status, 503, answer.text)
  assert.match((JSON.parse(answer.text) as { code: string }).code, /^(store-unavailable|busy)$/)
  assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d*$/)
}

/** Sends a request on a connection of its own, which `destroy()` ends. */
export function open({ address }: Service, path: string, token: string): ClientRequest {
  const sent = get(address + path, { agent: false, headers: bearer(token) })
  sent.on('error', () => {})
  return sent
}

/** Waits for the start of the answer, whose body is not read. */
export async function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  return response
}

export interface CsrfPair extends Readonly<Record<string, string>> {
  readonly 'x-xsrf-token': string
  readonly cookie: string
}

/** Returns the CSRF pair that came with the answer, as headers. */
export function pairIn({ headers }: Answered): CsrfPair {
  const value = String(headers['dspace-xsrf-token'])
  return { 'x-xsrf-token': value, cookie: `DSPACE-XSRF-COOKIE=${value}` }
}

export const csrfPairOf = async (node: Service): Promise<CsrfPair> =>
  pairIn(await ask(node, '/api/security/csrf'))

/** Returns the token in the answer of a login. */
export function bearerIn({ status, headers, text: body }: Answered): string {
  assert.equal(status, 200, body)
  return (headers.authorization ?? '').replace('Bearer ', '')
}

// The database -----------------------------------------------------------------------------------------------

/** The application name of connections by which tests hold locks. */
const holder = 'holder of locks'

/** Opens a connection of the test, which may hold locks. It is closed at the end of the test. */
export async function connectTo(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: holder })
  client.on('error', () => {})
  await client.connect()
  atEnd(t, () => client.end())
  return client
}

/** Locks a table exclusively. @returns a function that releases the lock */
export async function lockTable(t: TestContext, url: string, table: string): Promise<() => Promise<void>> {
  const client = await connectTo(t, url)
  await client.query(`BEGIN; LOCK TABLE carrel.${table} IN ACCESS EXCLUSIVE MODE`)
  return async () => {
    await client.query('ROLLBACK')
  }
}

/** Adds events for the listing, each of about this number of bytes. */
export async function addEvents(url: string, count: number, bytes: number): Promise<void> {
  await runSql(
    url,
    `INSERT INTO carrel.event (time, event, outcome, reason)
       SELECT '2020-01-01T00:00:00.000Z', 'login', 'success', repeat('x', ${bytes}) FROM generate_series(1, ${count})`,
  )
}

const eventColumns = `id, time, event, outcome, eperson, actor,
  (SELECT email FROM carrel.eperson WHERE uuid = actor) AS actor_email, client_ip, method, object, reason, count, CAST(changes AS JSON) AS changes,
  CAST(repeats AS JSON) AS repeats, request`

/** Makes the reading of each event take this number of seconds. */
export async function slowEvents(url: string, seconds: number): Promise<void> {
  await runSql(
    url,
    `CREATE OR REPLACE VIEW carrel.events AS
       SELECT ${eventColumns} FROM carrel.event WHERE CAST(pg_sleep(${seconds}) AS text) = ''`,
  )
}

/** Undoes `slowEvents`. */
export async function quickEvents(url: string): Promise<void> {
  await runSql(url, `CREATE OR REPLACE VIEW carrel.events AS SELECT ${eventColumns} FROM carrel.event`)
}

/** Returns the number of the service's connections that are busy with a listing of events. */
export async function reading(url: string): Promise<number> {
  const [row] = await runSql<{ count: string }>(
    url,
    `SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database()
       AND application_name = 'carrel' AND state <> 'idle' AND query ~ 'events|FETCH|DECLARE'`,
  )
  return Number(row?.count)
}

export const untilReading = (url: string, count: number): Promise<number> =>
  until(
    `${count} statements that read events`,
    () => reading(url),
    seen => seen === count,
  )

/**
 * Returns the number of statements that wait for a lock of the test, also behind others. Statements of the service
 * wait for each other for a moment, too, for instance to send notifications: those don't count.
 */
export async function waiting(url: string): Promise<number> {
  const [row] = await runSql<{ count: string }>(
    url,
    `WITH RECURSIVE held AS (
       SELECT pid, 0 AS is_waiting FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = '${holder}'
       UNION
       SELECT other.pid, 1 FROM held JOIN pg_stat_activity AS other ON held.pid = ANY (pg_blocking_pids(other.pid))
         WHERE other.datname = current_database() AND other.wait_event_type = 'Lock'
     )
     SELECT count(*) AS count FROM held WHERE is_waiting = 1`,
  )
  return Number(row?.count)
}

export const untilWaiting = (url: string, count: number): Promise<number> =>
  until(
    `${count} statements that wait for a lock`,
    () => waiting(url),
    seen => seen === count,
  )
