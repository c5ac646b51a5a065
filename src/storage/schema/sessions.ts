import { blob, integer, key, nullable, numbered, ownedBy, real, table, text, unique } from './table.ts'

/** The eperson that a subject of a provider is. An eperson has at most one subject at a provider. */
export const identity = table('identity', {
  columns: { provider: key(text), subject: key(text), eperson: ownedBy(text, 'eperson'), linked: text },
  unique: [['eperson', 'provider']],
  withoutRowid: true,
  backup: 'rows',
})

export const providerSession = table('provider_session', {
  columns: {
    id: numbered,
    eperson: ownedBy(text, 'eperson'),
    provider: text,
    name: text,
    sid: nullable(text),
    detail: text,
    begun: text,
    // The session here that began with it, in ms since 1970.
    session: nullable(integer),
  },
  indexes: {
    provider_session_of_eperson: '(eperson, id)',
    provider_session_by_name: '(provider, name)',
    provider_session_by_sid: '(provider, sid)',
    provider_session_by_begin: '(begun)',
  },
  backup: 'rows',
})

/** Times are ms since 1970. */
export const session = table('session', {
  columns: {
    eperson: key(ownedBy(text, 'eperson')),
    begun: key(integer),
    method: text,
    network: nullable(text),
    used: integer,
    used_network: nullable(text),
    expires: integer,
    // The eperson's; otherwise the session has ended.
    session_key: blob,
    // The program that logged in, as it calls itself.
    browser: nullable(text),
  },
  withoutRowid: true,
  backup: 'rows',
})

export const accessToken = table('access_token', {
  columns: {
    id: key(text),
    eperson: ownedBy(text, 'eperson'),
    name: text,
    // SHA-256 of the whole token.
    hash: blob,
    // JSON, like `networks`.
    scope: text,
    networks: text,
    created: integer,
    expires: integer,
    used: nullable(integer),
    // The eperson's; otherwise the token has ended.
    password_stamp: integer,
  },
  withoutRowid: true,
  indexes: { access_token_of_eperson: '(eperson, created)' },
  backup: 'rows',
})

/** Second factors of epersons (docs/decisions/0081). Times are ms since 1970. */
export const factor = table('factor', {
  columns: {
    id: key(text),
    eperson: ownedBy(text, 'eperson'),
    kind: text,
    name: text,
    alone: integer,
    // The encrypted secret of TOTP, or the public key of a passkey.
    secret: blob,
    credential: nullable(unique(text)),
    // The last time step that was used, or the signature counter.
    counter: integer,
    created: integer,
    used: nullable(integer),
  },
  indexes: { factor_of_eperson: '(eperson, created)', factor_that_stands_alone: '(id) WHERE alone = 1' },
  backup: 'rows',
})

export const recoveryCode = table('recovery_code', {
  columns: { eperson: key(ownedBy(text, 'eperson')), hash: key(text) },
  backup: 'rows',
})

/** Networks that epersons have logged in from. */
export const familiarNetwork = table('familiar_network', {
  columns: { eperson: key(ownedBy(text, 'eperson')), network: key(text), at: integer },
  withoutRowid: true,
  backup: 'rows',
})

/** Single-use tickets: the state of a login or a link that is under way. */
export const ticket = table('ticket', {
  columns: {
    id: key(text),
    content: text,
    // In ms since 1970.
    expires: integer,
  },
  withoutRowid: true,
  indexes: { ticket_by_expiry: '(expires)' },
  backup: { left: 'used once, perhaps since then' },
})

/** Attempts to guess a password (docs/decisions/0023). Times are ms since 1970. */
export const attempt = table('attempt', {
  columns: { key: key(text), level: real, at: integer, expires: integer },
  withoutRowid: true,
  indexes: { attempt_by_expiry: '(expires)' },
  backup: { left: 'out of date by then' },
})

export const sessionTables = [
  identity,
  providerSession,
  session,
  accessToken,
  factor,
  recoveryCode,
  familiarNetwork,
  ticket,
  attempt,
]
