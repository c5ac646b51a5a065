import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import type { ChallengePurpose } from '../../../src/authn/passkeys.ts'
import type { Tickets } from '../../../src/authn/tickets.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import type { AuditEvent } from '../../../src/model/audit-events.ts'
import type { TokenPurpose } from '../../../src/model/keys.ts'
import { epersonsPath, patchJson } from '../../support/clients/people.ts'
import {
  byLink,
  type Credential,
  choosePassword,
  credentials,
  mailedTo,
  type Person,
  type State,
  startWorld,
  type World,
} from '../../support/data/credentials.ts'
import { allEvents } from '../../support/data/events.ts'
import { factorsPath, sendJson } from '../../support/data/factors.ts'
import { begunOf } from '../../support/data/sessions.ts'
import { test, testOnOne } from '../../support/service/engines.ts'
import { passwordOf } from '../../support/service/service.ts'

/** What a credential hangs on, by which the rules say what ends it. */
type Root =
  /** The session that asks for the ending, and another one of the same eperson. */
  | 'own'
  | 'other'
  /** A right password that has no session yet. */
  | 'login'
  /** The account alone: whoever is logged out is still asked for the passkey. */
  | 'account'
  | 'program'
  | 'mail'
  /** The session of an administrator together with the eperson on whose behalf they act. */
  | 'acting'

const roots = {
  'own session': 'own',
  'own short-lived token': 'own',
  'own lease': 'own',
  'own challenge': 'own',
  'own enrolment': 'own',
  'other session': 'other',
  'other short-lived token': 'other',
  'other lease': 'other',
  'other challenge': 'other',
  'other enrolment': 'other',
  'access token': 'program',
  'token of an administrator who acts as them': 'acting',
  'token of theirs as somebody': 'other',
  'ticket of a second step': 'login',
  'challenge of a second step': 'login',
  'ticket that must enrol': 'login',
  'enrolment of a login': 'login',
  'login link': 'login',
  'challenge of a passkey alone': 'account',
  'mailed link': 'mail',
} as const satisfies Readonly<Record<Credential, Root>>

type Fates = Readonly<Record<Root, State>>
interface Ending {
  /** What is in the audit trail for the ending of each person; null: it isn't about persons. */
  readonly event: AuditEvent['event'] | null
  end(world: World, person: Person): Promise<unknown>
  readonly fates: Fates
  /** Credentials that end, or stay, otherwise than what they hang on. */
  readonly but?: Partial<Readonly<Record<Credential, State>>>
}

const all = (state: State): Fates => ({
  ...{ own: state, other: state, login: state, account: state, program: state, mail: state },
  acting: state,
})
/** Every session ends, and whatever was to become one. */
const loggedOut: Fates = { ...all('ended'), account: 'good', program: 'good', mail: 'good' }

const done = async (asked: Promise<Response>, status = 204) => {
  const answer = await asked
  assert.equal(answer.status, status, await answer.text())
}
const pathOf = ({ uuid }: Person) => `${epersonsPath}/${uuid}`
const patched = (w: World, person: Person, path: string, value: unknown) =>
  done(patchJson(w.root.own, pathOf(person), [{ op: 'replace', path, value }]), 200)
const newPassword = 'quite another one'
const of = ({ uuid }: Person, event: AuditEvent['event']) => ({ ...commandEvent(event), eperson: uuid })

const endings = {
  'nothing at all': {
    event: null,
    end: async () => {},
    fates: all('good'),
  },
  'a logout': {
    event: 'logout',
    end: (_, { own }) => done(own.post('/api/authn/logout')),
    fates: loggedOut,
  },
  'the end of all other sessions': {
    event: 'session.end',
    end: (_, { own }) => done(own.delete('/api/authn/sessions')),
    fates: { ...loggedOut, own: 'good' },
  },
  'the end of one session': {
    event: 'session.end',
    end: (_, { own, other }) => done(own.delete(`/api/authn/sessions/${begunOf(other.token ?? '')}`)),
    fates: { ...all('good'), other: 'ended' },
  },
  'an administrator who ends the sessions of someone': {
    event: 'session.end',
    end: (w, person) => done(w.root.own.delete(`${pathOf(person)}/sessions`)),
    fates: loggedOut,
  },
  'the end of everybody’s sessions': {
    event: null,
    end: w => w.service.storage.sessions.endAll(commandEvent('session.end', 'all')),
    fates: loggedOut,
  },
  'a password that its owner changes': {
    event: 'eperson.password',
    end: (_, person) => {
      const value = { new_password: newPassword, current_password: passwordOf(person.email) }
      return done(patchJson(person.own, pathOf(person), [{ op: 'add', path: '/password', value }]), 200)
    },
    fates: { ...all('ended'), own: 'good', account: 'good' },
  },
  'a password that an administrator sets': {
    event: 'eperson.password',
    end: (w, person) => {
      const value = { new_password: newPassword }
      return done(patchJson(w.root.own, pathOf(person), [{ op: 'add', path: '/password', value }]), 200)
    },
    fates: { ...all('ended'), account: 'good' },
  },
  'a password chosen by a link in a mail': {
    event: 'eperson.password',
    end: async (w, person) =>
      done(choosePassword(w.service.client(), person.uuid, await mailedTo(w, person)), 200),
    fates: { ...all('ended'), account: 'good' },
  },
  'a disabled account': {
    event: 'eperson.disable',
    end: (w, person) => patched(w, person, '/canLogIn', false),
    fates: all('ended'),
  },
  'a deleted account': {
    event: 'eperson.delete',
    end: (w, person) => done(w.root.own.delete(pathOf(person))),
    fates: all('ended'),
  },
  'another address of the account': {
    event: 'eperson.change',
    end: (w, person) => patched(w, person, '/email', `new-${person.email}`),
    fates: { ...all('good'), mail: 'ended' },
  },
  'an identity that is unlinked': {
    event: 'eperson.unlink',
    end: async ({ service: { storage } }, person) => {
      const { identities } = storage
      const linked = { provider: 'uni', subject: person.email }
      await identities.link(person.email, linked, commandEvent('eperson.link', 'uni'))
      await identities.unlink(person.email, 'uni', commandEvent('eperson.unlink', 'uni'))
    },
    fates: { ...loggedOut, program: 'ended' },
  },
  'a reset of the second factors': {
    event: 'factor.reset',
    end: (w, person) => {
      const proof = { recovery: w.root.codes.pop() }
      return done(sendJson(w.root.own, `${pathOf(person)}/factors/reset`, { proof }))
    },
    fates: all('ended'),
  },
  'the removal of the last factor': {
    event: 'factor.remove',
    end: async (_, { own, factor, codes }) => {
      const proof = { recovery: codes.pop() }
      if (factor) await done(sendJson(own, `${factorsPath}/${factor.id}/removal`, { proof }))
    },
    fates: { ...all('ended'), program: 'good', acting: 'good', mail: 'good' },
    // Of someone who had no factor to remove; and a link never asks for one.
    but: { 'ticket that must enrol': 'good', 'enrolment of a login': 'good', 'login link': 'good' },
  },
  'an access token that is revoked': {
    event: 'token.revoke',
    end: ({ service: { storage } }, person) =>
      storage.accessTokens.revokeAll(person.uuid, of(person, 'token.revoke')),
    fates: { ...all('good'), program: 'ended' },
  },
  'the loss of a group': {
    event: 'group.leave',
    end: ({ service: { storage } }, { group, email }) =>
      storage.people.leave(group, email, commandEvent('group.leave')),
    fates: { ...all('good'), own: 'no right', other: 'no right', program: 'no right', acting: 'no right' },
    // A lease is for nothing but the file.
    but: { 'own lease': 'ended', 'other lease': 'ended', 'token of theirs as somebody': 'ended' },
  },
  'another secret that signs tokens': {
    event: null,
    end: w => done(w.root.own.post('/api/admin/secret/rotate'), 200),
    fates: all('good'),
  },
} as const satisfies Readonly<Record<string, Ending>>

type Name = keyof typeof endings

/** Credentials that open no file, so the loss of a right to one doesn't change them. */
const readsNothing: ReadonlySet<Credential> = new Set(
  Object.keys(credentials).filter(name => /challenge|enrol|ticket|link/.test(name)) as Credential[],
)

const tried = new Set<string>()

/** Declares the test of an ending: of each credential, if it is as the table says. */
function ends(sentence: string, name: Name): void {
  const ending: Ending = endings[name]
  tried.add(name)
  test(sentence, async t => {
    const world = await startWorld(t)
    const looks = new Map<Credential, () => Promise<State>>()
    for (const [credential, make] of Object.entries(credentials))
      looks.set(credential as Credential, await make(world))
    for (const person of [world.ruth, world.ada, world.otto]) await ending.end(world, person)

    const found: Partial<Record<Credential, State>> = {}
    const right: Partial<Record<Credential, State>> = {}
    for (const [credential, look] of looks) {
      const fate = ending.but?.[credential] ?? ending.fates[roots[credential]]
      right[credential] = fate === 'no right' && readsNothing.has(credential) ? 'good' : fate
      found[credential] = await look()
    }
    assert.deepEqual(found, right, `after ${name}`)
    if (ending.event === null) return
    const { uuid } = world.ruth
    const events = await allEvents(await byLink(world.service, world.root.email))
    assert.ok(events.some(({ event, eperson }) => event === ending.event && eperson === uuid))
  })
}

ends('T3 without an ending, everything that makes a request someone’s is good', 'nothing at all')
ends(
  'T4 L12 K5 a logout ends all sessions and logins under way with what was made of them, and no access token or mailed link',
  'a logout',
)
ends(
  'N3 L12 K5 the end of all other sessions ends logins under way, and leaves one’s own with what was made of it',
  'the end of all other sessions',
)
ends('N2 L12 K5 the end of one session ends what was made of it, and nothing else', 'the end of one session')
ends(
  'N5 L12 K5 an administrator ends all that a logout ends',
  'an administrator who ends the sessions of someone',
)
ends(
  'OP5 L12 K5 the end of everybody’s sessions ends all that a logout ends',
  'the end of everybody’s sessions',
)
ends(
  'T6 K5 V2 a password that its owner changes ends everything but that session, with what was made of it',
  'a password that its owner changes',
)
ends(
  'T6 M2 K5 V2 a password that an administrator sets ends everything',
  'a password that an administrator sets',
)
ends('V2 T6 K5 a password chosen by a mailed link ends everything', 'a password chosen by a link in a mail')
ends('T6 M2 K5 V2 disabling an account ends everything', 'a disabled account')
ends('T6 M3 K5 deleting an account ends everything', 'a deleted account')
ends(
  'V2 M2 another address of an account ends the mailed link, and nothing else',
  'another address of the account',
)
ends(
  'K5 OP5 unlinking an identity ends all that a logout ends, and access tokens',
  'an identity that is unlinked',
)
ends('L17 V2 a reset of the second factors ends everything', 'a reset of the second factors')
ends(
  'L17 where everybody must have a factor, removing the last one ends all that began with it, and no access token',
  'the removal of the last factor',
)
ends('K5 revoking an access token ends nothing else', 'an access token that is revoked')
ends(
  'M5 F3 B2 losing a group ends the right that it gave, for tokens of each kind, and no session',
  'the loss of a group',
)
ends('T7 another secret ends nothing', 'another secret that signs tokens')

const held = (file: string): readonly Credential[] => {
  assert.ok(existsSync(new URL(`${file}.test.ts`, import.meta.url)), file)
  return []
}

/** The credentials of each kind that the product has. Those of single sign-on are held by other files. */
const kinds = [
  {
    login: ['own session', 'other session'],
    'short-lived': ['own short-lived token', 'other short-lived token'],
    'lease/…': ['own lease', 'other lease'],
  } satisfies Readonly<Record<TokenPurpose, readonly Credential[]>>,
  {
    alone: ['challenge of a passkey alone'],
    login: ['challenge of a second step'],
    proof: ['own challenge', 'other challenge'],
  } satisfies Readonly<Record<ChallengePurpose, readonly Credential[]>>,
  {
    acting: ['token of an administrator who acts as them', 'token of theirs as somebody'],
    'second-factor': ['ticket of a second step'],
    'must-enrol': ['ticket that must enrol'],
    enrolment: ['own enrolment', 'other enrolment', 'enrolment of a login'],
    'login-link': ['login link'],
    registration: ['mailed link'],
    trade: held('../sso/oidc-trade'),
    state: held('../sso/oidc-login'),
    logout: held('../sso/oidc-logout'),
    'logout-request': held('../sso/saml-logout'),
    // These tell only that something was used before.
    challenge: [],
    'logout-token/…': [],
    'mail/…': [],
  } satisfies Readonly<Record<Parameters<Tickets['issue']>[0], readonly Credential[]>>,
  { 'access-token': ['access token'] } satisfies Readonly<Record<string, readonly Credential[]>>,
]

/** A right to a thing, or one of all at once, is looked at by each request (T12), and belongs to no session. */
const none: readonly Name[] = []
const leaves: readonly Name[] = ['the loss of a group']

/** The endings that each event of the audit trail stands for. */
const events = {
  ...{ login: none, refresh: none, 'short-lived-token': none, 'on-behalf-of': none, registration: none },
  logout: ['a logout'],
  'session.end': [
    'the end of all other sessions',
    'the end of one session',
    'an administrator who ends the sessions of someone',
    'the end of everybody’s sessions',
  ],
  ...{ 'factor.ask': none, 'factor.add': none, 'factor.change': none, 'factor.codes': none },
  'factor.recover': none,
  'factor.remove': ['the removal of the last factor'],
  'factor.reset': ['a reset of the second factors'],
  'token.add': none,
  'token.revoke': ['an access token that is revoked'],
  ...{ 'eperson.add': none, 'eperson.enable': none, 'eperson.link': none, 'agreement.reset': none },
  'eperson.change': ['another address of the account'],
  'eperson.disable': ['a disabled account'],
  'eperson.delete': ['a deleted account'],
  'eperson.password': [
    'a password that its owner changes',
    'a password that an administrator sets',
    'a password chosen by a link in a mail',
  ],
  'eperson.unlink': ['an identity that is unlinked'],
  ...{ 'group.add': none, 'group.change': none, 'group.join': none, 'group.include': none },
  ...{ 'group.leave': leaves, 'group.exclude': leaves, 'group.delete': leaves },
  ...{ 'entity.import': none, 'entity.update': none, 'entity.restore': none, 'entity.drop': none },
  ...{ 'entity.expose': none, 'entity.access': none, 'entity.relate': none, 'entity.unrelate': none },
  ...{ 'entity.default': none, 'entity.writers': none, 'entity.change': none },
  ...{ 'record.put': none, 'record.change': none, 'record.delete': none },
  ...{ 'item.add': none, 'item.change': none, 'item.access': none, 'item.delete': none },
  ...{ 'bundle.add': none, 'bundle.change': none, 'bundle.delete': none },
  ...{ 'bitstream.add': none, 'bitstream.change': none, 'bitstream.delete': none, download: none },
  ...{ 'process.start': none, 'process.cancel': none, 'process.resume': none, 'process.delete': none },
  ...{ 'alert.change': none, 'site.change': none },
  ...{ 'metadata-schema.add': none, 'metadata-schema.change': none, 'metadata-schema.delete': none },
  ...{ 'metadata-field.add': none, 'metadata-field.change': none, 'metadata-field.delete': none },
  'secret.rotate': ['another secret that signs tokens'],
  ...{ 'store.backup': none, 'store.copy': none, 'store.restore': none, 'events.prune': none },
} as const satisfies Readonly<Record<AuditEvent['event'], readonly Name[]>>

testOnOne(
  'T12 K5 the table has each ending of the audit trail, and each kind of token, ticket and challenge',
  () => {
    const named = new Set<string>(kinds.flatMap(kind => Object.values(kind).flat()))
    assert.deepEqual(named, new Set(Object.keys(credentials)))
    const ended = new Set<string>(Object.values(events).flat())
    assert.deepEqual(ended.add('nothing at all'), new Set(Object.keys(endings)))
    assert.deepEqual(tried, ended)
  },
)
