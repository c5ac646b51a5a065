import { randomBytes, randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { changes, jsonOf, openRightTo, reads, refusesShortLived } from '../http/access.ts'
import { eventOf, loginEvent } from '../http/audit.ts'
import { bodyChecks } from '../http/check-body.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { jsonBody } from '../http/json-body.ts'
import { Problem } from '../http/problems.ts'
import { ownLogin } from '../http/require-caller.ts'
import { type Eperson, type KeptSession, passwordMethod } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import type { Authenticated } from '../model/caller.ts'
import type { Factor, FactorKind, StoredFactor } from '../model/factors.ts'
import { newRecoveryCodes, newTotpSecret, stepOf, totpForApp } from './factor-codes.ts'
import { type FactorParts, factorBody, pageOf } from './factor-page.ts'
import { type Pending, sessionUnderWay, ticketRefused } from './logins-under-way.ts'
import { ownSession } from './session-routes.ts'

const contracts = () => import('./factor-contracts.ts')
const route = contractsIn(contracts)
const checked = bodyChecks(contracts, 'factor-refused')

/**
 * An enrolment that has begun. The client keeps it, encrypted, so that beginning many of them costs the store nothing.
 */
interface Begun extends Pick<Factor, 'id' | 'eperson' | 'kind' | 'name' | 'alone'> {
  /** The encrypted secret of TOTP in base64, or the challenge of a passkey. */
  readonly secret: string
  readonly isFirst: boolean
  /** Time in ms since 1970. */
  readonly until: number
  /** The beginning and the key, in base64url, of the session in which it has begun, or of the login (T12). */
  readonly session: number
  readonly key: string
  /** The login that has to enrol a factor, and its ticket; undefined in a session. */
  readonly login?: Pending
  readonly ticket?: string
}

/** Lifetime of an enrolment in seconds. */
const enrolmentLifetime = 600

const own = { onBehalf: 'refused' } as const
const takesJson = changes('eperson', 'none', jsonOf(), own)
const openToTickets = changes(
  openRightTo('change their factors, and log in with the ticket of a login'),
  'none',
  jsonOf(),
  own,
)

/** `/api/authn/factors` and `/api/authn/challenges`: the caller's own factors (L12–L18). */
export function factorRoutes(app: FastifyInstance, parts: FactorParts): void {
  challengeRoute(app, parts)
  readRoutes(app, parts)
  beginRoute(app, parts)
  addRoute(app, parts)
  changeRoutes(app, parts)
}

const allAt = ({ addresses }: FactorParts) => `${addresses.authn}/factors`
const bodyOf = (parts: FactorParts, factor: Factor) => factorBody(factor, `${allAt(parts)}/${factor.id}`)
const ownOf = ({ factors }: FactorParts, { session }: Authenticated) => factors.of(session.eperson.uuid)

async function found(parts: FactorParts, caller: Authenticated, id: string): Promise<StoredFactor> {
  const factor = (await ownOf(parts, caller)).factors.find(one => one.id === id)
  if (!factor) throw noFactor()
  return factor
}

function challengeRoute(app: FastifyInstance, { config, factors, logins, passkeys }: FactorParts): void {
  routesOf(app).post('/challenges', route('askChallenge', openToTickets), async (request, reply) => {
    requireOn(config)
    const { ticket, purpose } = await checked('askChallenge', jsonBody(request))
    reply.header('cache-control', 'no-store')
    const optionsOf = async (why: 'login' | 'proof', uuid: string, session: KeptSession) =>
      passkeys.requestOptions(why, { uuid, ...session }, (await factors.of(uuid)).factors)
    const forProof = (caller: Authenticated) =>
      optionsOf('proof', caller.session.eperson.uuid, ownSession(caller))
    const forLogin = (login: Pending) => optionsOf('login', login.uuid, sessionUnderWay(login))
    const publicKey =
      purpose !== undefined
        ? await forProof(ownLogin(request.caller))
        : ticket !== undefined
          ? await forLogin(await logins.read('second-factor', ticket))
          : passkeys.requestOptions('alone', null, [])
    return { publicKey, type: 'challenge' }
  })
}

function readRoutes(app: FastifyInstance, parts: FactorParts): void {
  const { secondFactor } = parts
  routesOf(app).get(
    '/factors',
    route('listFactors', refusesShortLived(reads('eperson', 'none', own))),
    async request => {
      const { session } = request.caller
      const known = await ownOf(parts, request.caller)
      return pageOf(parts, known, session.eperson, secondFactor.isRequired(session), request, allAt(parts))
    },
  )

  routesOf(app).get(
    '/factors/:id',
    route('showFactor', refusesShortLived(reads('eperson', 'none', own))),
    async request => bodyOf(parts, await found(parts, request.caller, request.params.id)),
  )
}

function beginRoute(app: FastifyInstance, parts: FactorParts): void {
  const { clock, config, factors, logins, passkeys, people, sealed, secondFactor, tickets } = parts
  routesOf(app).post(
    '/factors/enrolments',
    route('beginEnrolment', openToTickets),
    async (request, reply) => {
      requireOn(config)
      const wanted = await checked('beginEnrolment', jsonBody(request))
      const { kind, alone = false } = wanted
      if (alone && kind === 'totp') throw refused('Only a passkey can log in without a password.')
      if (kind === 'passkey' && !passkeys.arePossible)
        throw refused('Passkeys need a service at an https address with a name (CARREL_BASE_URL).')
      const { ticket } = wanted
      const login = ticket === undefined ? undefined : await logins.read('must-enrol', ticket)
      const eperson = login ? await people.eperson(login.uuid) : ownLogin(request.caller).session.eperson
      if (!eperson) throw expired()
      const known = login
        ? await factors.of(login.uuid)
        : await secondFactor.prove(ownLogin(request.caller), wanted.proof ?? {}, 'factor.add', request)
      // The password is proof enough for a first factor only.
      if (login && known.factors.length > 0) throw ticketRefused()
      const id = randomUUID()
      const secret = kind === 'totp' ? newTotpSecret() : randomBytes(32)
      const challenge = Buffer.from(secret).toString('base64url')
      const begunBy = login ? sessionUnderWay(login) : ownSession(ownLogin(request.caller))
      const begun: Begun = {
        ...{ id, kind, alone, name: wanted.name.trim(), eperson: eperson.uuid },
        secret: kind === 'totp' ? Buffer.from(sealed.seal(secret, id)).toString('base64') : challenge,
        isFirst: known.factors.length === 0,
        until: clock.now() + enrolmentLifetime * 1000,
        session: begunBy.begun,
        key: Buffer.from(begunBy.key).toString('base64url'),
        ...(login && { login }),
        ...(ticket !== undefined && { ticket: tickets.idOf('must-enrol', ticket) }),
      }
      const enrolment = Buffer.from(sealed.seal(Buffer.from(JSON.stringify(begun)), 'enrolment'))
      const shown =
        kind === 'totp'
          ? totpForApp(secret, config.look.name, eperson.email)
          : { publicKey: passkeys.creationOptions(challenge, personOf(eperson), alone, known.factors) }
      return reply
        .code(201)
        .header('cache-control', 'no-store')
        .send({ enrolment: enrolment.toString('base64url'), kind, type: 'enrolment', ...shown })
    },
  )
}

function addRoute(app: FastifyInstance, parts: FactorParts): void {
  const { clock, factors, logins, sealed, tellOwner, tickets } = parts
  routesOf(app).post('/factors', route('addFactor', openToTickets), async (request, reply) => {
    const given = await checked('addFactor', jsonBody(request))
    const opened = sealed.open(Buffer.from(given.enrolment, 'base64url'), 'enrolment')
    const begun = opened && (JSON.parse(Buffer.from(opened.secret).toString()) as Begun)
    if (!begun || begun.until <= clock.now()) throw expired()
    const { id, eperson, kind, name, alone, login, isFirst } = begun
    const by = login ? null : ownLogin(request.caller)
    if (by && by.session.eperson.uuid !== eperson) throw expired()
    if (!by && given.endOtherSessions)
      throw refused('`endOtherSessions` is for a session, and this login has none yet.')
    const verified = await verifiedNew(parts, begun, given)
    if (!verified)
      throw refused(`${kind === 'totp' ? 'The code' : 'The answer of the passkey'} is not valid.`)
    // Of two requests with one enrolment, only one goes on.
    if (!(await tickets.isFirst('enrolment', id, enrolmentLifetime))) throw expired()
    const codes = isFirst ? newRecoveryCodes(eperson) : undefined
    const added: StoredFactor = {
      ...{ id, eperson, kind, name, alone, created: clock.now(), used: null },
      ...verified,
    }
    const event = by
      ? eventOf(by, request, { event: 'factor.add', outcome: 'success', object: id })
      : {
          ...loginEvent(request, eperson, login && 'session' in login ? login.method : passwordMethod),
          event: 'factor.add' as const,
          object: id,
        }
    const outcome = await factors.add(
      added,
      codes?.hashes ?? null,
      {
        session: { begun: begun.session, key: Buffer.from(String(begun.key), 'base64url') },
        ticket: begun.ticket ?? null,
        stays: by && given.endOtherSessions ? ownSession(by) : null,
      },
      { ...event, changes: { before: null, after: told(added) } },
    )
    if (outcome !== 'added') throw refused(reasons[outcome])
    tellOwner(eperson, 'added')
    const body = bodyOf(parts, added)
    return reply
      .code(201)
      .headers({ location: body._links.self.href, 'cache-control': 'no-store' })
      .send({
        ...body,
        ...(codes && { recoveryCodes: codes.shown }),
        ...(login && { ticket: await logins.issue({ ...login, proven: true }) }),
      })
  })
}

function changeRoutes(app: FastifyInstance, parts: FactorParts): void {
  const { factors, secondFactor, tellOwner } = parts
  routesOf(app).patch('/factors/:id', route('renameFactor', takesJson), async request => {
    const { name, proof } = await checked('renameFactor', jsonBody(request))
    const before = await found(parts, request.caller, request.params.id)
    await secondFactor.prove(request.caller, proof, 'factor.change', request)
    const after = { ...before, name: name.trim() }
    const event = changeOf(request, 'factor.change', before.id, { name: before.name }, { name: after.name })
    if (!(await factors.rename(before.id, before.eperson, after.name, event))) throw noFactor()
    return bodyOf(parts, after)
  })

  routesOf(app).post('/factors/:id/removal', route('removeFactor', takesJson), async (request, reply) => {
    const { proof } = await checked('removeFactor', jsonBody(request))
    const factor = await found(parts, request.caller, request.params.id)
    await secondFactor.prove(request.caller, proof, 'factor.remove', request)
    const event = changeOf(request, 'factor.remove', factor.id, told(factor), null)
    if (!(await factors.remove(factor.id, factor.eperson, event))) throw noFactor()
    tellOwner(factor.eperson, 'removed')
    return reply.code(204).send()
  })

  routesOf(app).post(
    '/factors/recovery-codes',
    route('renewRecoveryCodes', takesJson),
    async (request, reply) => {
      const { proof } = await checked('renewRecoveryCodes', jsonBody(request))
      const { caller } = request
      const { uuid } = caller.session.eperson
      await secondFactor.prove(caller, proof, 'factor.codes', request)
      const { shown, hashes } = newRecoveryCodes(uuid)
      const event = eventOf(caller, request, { event: 'factor.codes', outcome: 'success' })
      if (!(await factors.replaceCodes(uuid, hashes, event)))
        throw refused('Recovery codes come with a factor, and you have none.')
      return reply.header('cache-control', 'no-store').send({ recoveryCodes: shown })
    },
  )
}

/** Verifies the first code, or the answer of a new passkey. */
async function verifiedNew(
  { clock, passkeys, sealed }: FactorParts,
  { id, kind, secret, alone }: Begun,
  { totp, webauthn }: { readonly totp?: string; readonly webauthn?: unknown },
): Promise<Pick<StoredFactor, 'counter' | 'credential' | 'secret'> | undefined> {
  if (kind === 'passkey') return passkeys.verifyNew(webauthn, secret, alone)
  const bytes = Buffer.from(secret, 'base64')
  const opened = sealed.open(bytes, id)
  const counter = opened && stepOf(opened.secret, totp ?? '', clock.now())
  return counter === undefined ? undefined : { counter, credential: null, secret: bytes }
}

/** A factor in the event of its change. */
type Told = Pick<Factor, 'alone' | 'name'> & { readonly kind: FactorKind }
const told = ({ kind, name, alone }: Told): Told => ({ kind, name, alone })

const changeOf = (
  request: FastifyRequest,
  event: AuditEvent['event'],
  object: string,
  before: Readonly<Record<string, unknown>> | null,
  after: Readonly<Record<string, unknown>> | null,
): AuditEvent => ({
  ...eventOf(request.caller, request, { event, outcome: 'success', object }),
  changes: { before, after },
})

function personOf({ uuid, email, firstName, lastName }: Eperson) {
  const name = [firstName, lastName].filter(Boolean).join(' ') || email
  return { uuid, email, name }
}

const reasons = {
  changed: 'Factors were added or removed since this enrolment began. Begin again.',
  'too-many': 'There are as many factors of this kind as there may be. Remove one first.',
  known: 'This passkey is enrolled already.',
  ended: 'The session, login or account in which this enrolment began has ended since. Begin again.',
}

const refused = (detail: string) => new Problem('factor-refused', detail)
const expired = () => refused('The enrolment is finished, too old, or was begun by another. Begin again.')
const noFactor = () => new Problem('not-found', 'You have no factor with this id.')

function requireOn({ secondFactor }: FactorParts['config']): void {
  if (secondFactor === 'off')
    throw new Problem('access-denied', 'This service has no second factors (CARREL_SECOND_FACTOR is off).')
}
