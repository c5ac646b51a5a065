import { Eperson, SpecialGroupPage } from '../http/resources/schemas.ts'
import {
  always,
  closed,
  flag,
  Link,
  links,
  named,
  oneOf,
  orNull,
  pageOf,
  type TSchema,
  Type,
  text,
  time,
  uuid,
} from '../http/schema.ts'
import {
  apiParts,
  maxTokenEntities,
  maxTokenName,
  maxTokenNetworks,
  scopeMethods,
} from '../model/access-tokens.ts'

/** Schemas of sessions, tokens and the status. */

export const Status = named('Status', {
  okay: always(true),
  authenticated: flag,
  authenticationMethod: Type.Union([text, Type.Null()], { description: 'How the caller logged in.' }),
  type: always('status'),
  _links: closed({ eperson: Type.Optional(Link), specialGroups: Link, self: Link }),
  _embedded: closed({ eperson: Type.Optional(Eperson), specialGroups: SpecialGroupPage }),
})

export const Session = named('Session', {
  id: text,
  current: flag,
  method: text,
  browser: orNull(text),
  begun: time,
  network: orNull(text),
  lastUsed: time,
  lastNetwork: orNull(text),
  expires: time,
  type: always('session'),
  _links: links('self'),
})
export const SessionPage = pageOf('sessions', Session, 'SessionPage')

const scope = {
  methods: Type.Array(oneOf(...scopeMethods)),
  parts: Type.Array(oneOf(...apiParts)),
  entities: orNull(Type.Array(text, { maxItems: maxTokenEntities })),
  networks: Type.Array(text, { maxItems: maxTokenNetworks }),
}
const accessToken = {
  id: text,
  name: text,
  prefix: text,
  ...scope,
  created: time,
  expires: time,
  lastUsed: orNull(time),
  type: always('accesstoken'),
  _links: links('self'),
}
export const AccessToken = named('AccessToken', accessToken, 'An access token without its secret.')
/** An access token as administrators see it. */
export const AccessTokenOf = named('AccessTokenOf', { ...accessToken, eperson: uuid })
export const AccessTokenPage = pageOf('tokens', AccessToken, 'AccessTokenPage')
export const NewAccessToken = named(
  'NewAccessToken',
  { token: text, ...accessToken },
  'An access token. `token` is shown only now.',
)

/** A list that may be missing, but not empty. */
const some = <T extends TSchema>(element: T, maxItems: number) =>
  Type.Optional(orNull(Type.Array(element, { minItems: 1, maxItems })))
export const WantedAccessToken = named('WantedAccessToken', {
  name: Type.String({ minLength: 1, maxLength: maxTokenName, format: 'line' }),
  methods: some(oneOf(...scopeMethods), scopeMethods.length),
  parts: some(oneOf(...apiParts), apiParts.length),
  entities: some(Type.String({ format: 'entity-name' }), maxTokenEntities),
  networks: Type.Optional(
    orNull(Type.Array(Type.String({ format: 'network' }), { maxItems: maxTokenNetworks })),
  ),
  expires: Type.Optional(orNull(time)),
})

export const ShortLivedToken = named('ShortLivedToken', {
  token: text,
  type: always('shortlivedtoken'),
  _links: links('self'),
})

export const Login = named('Login', {
  user: Type.Optional(Type.String({ description: 'An email address.' })),
  password: Type.Optional(text),
  ticket: Type.Optional(
    Type.String({ description: 'Stands for the password, once, after an answer `second-factor-required`.' }),
  ),
  totp: Type.Optional(
    Type.String({ description: 'A code of six digits, beside the password or the ticket.' }),
  ),
  recovery: Type.Optional(Type.String({ description: 'A recovery code instead.' })),
  webauthn: Type.Optional(
    Type.String({
      description: 'The answer of a passkey instead, as JSON; without a password, of one that stands alone.',
    }),
  ),
  link: Type.Optional(Type.String({ description: 'The secret of a login link, instead of the others.' })),
})

/** Headers of an answer that brings a new CSRF pair. */
export const pair = { 'DSPACE-XSRF-TOKEN': text, 'Set-Cookie': text }
