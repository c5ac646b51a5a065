import { emailSchema, verified, verifiedOfSaml } from './email-schema.ts'
import { metadataSchema } from './metadata-schema.ts'
import { closed, secret, switchOf, text } from './schema-words.ts'

/** What each kind of provider takes, as JSON Schema; checked at the start, and published. */
const attribute = (description: string, fallback?: string) =>
  text(description, fallback === undefined ? {} : { default: fallback })

const condition = {
  attribute: text('The attribute or claim to compare. For a nested claim, a path with dots.'),
  value: text('The exact value to match.'),
  pattern: text('A regular expression to use instead of a value. It must match the whole value.', {
    format: 'regex',
  }),
}
const groupRule = closed(
  {
    group: text('The special group. It is created if it does not exist. It cannot be Administrator.'),
    ...condition,
  },
  ['group', 'attribute'],
)

interface Attributes {
  readonly subject?: string
  readonly email?: string
  readonly firstName?: string
  readonly lastName?: string
  readonly emailVerified?: string
}

/** Words of other meaning: other ways to log in, addresses beside it, and schemes for which browsers ask themselves. */
export const takenSchemes = [
  ...['password', 'ldap', 'command-line', 'login', 'logout', 'status', 'shortlivedtokens', 'sso'],
  ...['access-token', 'sessions', 'tokens'],
  ...['basic', 'bearer', 'digest', 'negotiate', 'ntlm'],
]

/** What every provider has, with the defaults of its kind. */
export const common = (scheme: string, verified: object, names: Attributes) => ({
  id: text('The name in URLs and in the audit trail. Never change it: identities are stored under it.', {
    pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
  }),
  name: text('The display name, on the page where a user chooses a provider. Default: the id.'),
  scheme: text('The scheme in WWW-Authenticate; providers may share one.', {
    default: scheme,
    pattern: '^[A-Za-z][A-Za-z0-9-]{0,31}$',
    not: { enum: takenSchemes },
  }),
  attributes: {
    description: 'Which attribute or claim holds what.',
    default: {},
    ...closed(
      {
        subject: attribute('The subject: stable, and never reassigned to another person.', names.subject),
        email: attribute('The e-mail address.', names.email),
        firstName: attribute('The first name.', names.firstName),
        lastName: attribute('The last name.', names.lastName),
        emailVerified: attribute(
          'The attribute or claim that says that the address is verified (true or 1). Used when email.verified is claim.',
          names.emailVerified,
        ),
      },
      names.subject === undefined ? ['subject'] : [],
    ),
  },
  email: emailSchema(verified),
  create: switchOf('Whether an eperson is created at the first login.'),
  require: {
    type: 'array',
    items: closed(condition, ['attribute']),
    maxItems: 50,
    default: [],
    description: 'Conditions for a login, all of which must hold. Default: none.',
  },
  groups: {
    type: 'array',
    items: groupRule,
    maxItems: 200,
    default: [],
    description: 'Special groups that attribute values give.',
  },
})

/** What the providers have at which people sign in by way of Carrel. */
const freshness = (parameter: string, answer: string) => ({
  maxAge: {
    type: 'integer',
    minimum: 1,
    maximum: 31_536_000,
    description: `How many seconds ago the user may have signed in at the provider (${parameter}); later, the provider has to ask again. ${answer} is required then. Default: any time.`,
  },
  silent: {
    ...switchOf(
      'Whether a browser that has been logged in through this provider comes back without a question, if the user is still signed in there.',
    ),
    default: true,
  },
})

/** @param what is listed */
const oneOf = (what: string, description: string) => ({
  type: 'array',
  items: text(what, { pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' }),
  minItems: 1,
  maxItems: 10,
  uniqueItems: true,
  description,
})

export const providerSchemas = {
  saml: closed(
    {
      kind: { const: 'saml' },
      ...common('shibboleth', verifiedOfSaml, {
        subject: 'NameID',
        email: 'urn:oid:0.9.2342.19200300.100.1.3',
        firstName: 'urn:oid:2.5.4.42',
        lastName: 'urn:oid:2.5.4.4',
      }),
      ...metadataSchema,
      nameIdFormat: text('The NameID format to request. Default: the choice of the provider.'),
      authnContext: oneOf(
        'A class of AuthnContext.',
        'How users must sign in at the provider: one of these classes is requested, and required. Default: in whichever way.',
      ),
      ...freshness('AuthnInstant, ForceAuthn', 'AuthnInstant'),
    },
    ['id', 'kind'],
  ),
  oidc: closed(
    {
      kind: { const: 'oidc' },
      ...common('oidc', verified('claim'), {
        subject: 'sub',
        email: 'email',
        firstName: 'given_name',
        lastName: 'family_name',
        emailVerified: 'email_verified',
      }),
      issuer: text(
        'The issuer identifier; everything else is discovered. http is accepted for loopback addresses only.',
        {
          pattern: '^https?://[^?#]+$',
        },
      ),
      clientId: text('The client id under which Carrel is registered with the provider.'),
      clientSecret: secret('The client secret. Without one, Carrel is a public client.'),
      clientAuthentication: {
        enum: ['basic', 'post'],
        default: 'basic',
        description: 'How the client secret is sent: as Basic authentication (basic) or in the form (post).',
      },
      scopes: {
        type: 'array',
        items: text('A scope.', { pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' }),
        default: ['openid', 'profile', 'email'],
        contains: { const: 'openid' },
        description: 'The scopes to request.',
      },
      userInfo: switchOf('Whether claims are also taken from the userinfo endpoint.'),
      acrValues: oneOf(
        'An authentication context class.',
        'How users must sign in at the provider: requested as acr_values, and one of them is required as the claim acr. Default: in whichever way.',
      ),
      ...freshness('max_age', 'The claim auth_time'),
      frontChannelLogout: switchOf(
        'Whether the provider may end sessions with a frame in the user’s browser that names iss and sid, for providers without back-channel logout.',
      ),
      logoutTokenType: {
        enum: ['logout+jwt', 'any'],
        default: 'logout+jwt',
        description:
          'The type (typ) that a logout token must have. any: also JWT, or none, for providers that do not set it.',
      },
      parameters: {
        type: 'object',
        additionalProperties: { type: 'string' },
        propertyNames: {
          not: {
            enum: [
              'client_id',
              'response_type',
              'response_mode',
              'redirect_uri',
              'scope',
              'state',
              'nonce',
              'code_challenge',
              'code_challenge_method',
              'max_age',
            ],
          },
        },
        default: {},
        description: 'More parameters of the authorization request, such as prompt or acr_values.',
      },
    },
    ['id', 'kind', 'issuer', 'clientId'],
  ),
  proxy: closed(
    {
      kind: { const: 'proxy' },
      ...common('shibboleth', verified('always'), {}),
      addresses: {
        type: 'array',
        items: text('An IP address or a network.'),
        minItems: 1,
        description:
          'The addresses that the proxy connects from: of the connection itself, not from a header.',
      },
      secretHeader: text('The header in which the proxy sends the shared secret.', {
        pattern: '^[A-Za-z0-9-]{1,64}$',
      }),
      secret: secret('The shared secret: at least 16 characters.'),
      separator: text('The separator of several values in one header. A backslash escapes it.', {
        default: ';',
        pattern: '^[^A-Za-z0-9\\\\ ]$',
      }),
      loginUrl: text(
        'Where a browser is sent when the proxy sent no attributes. {target} is replaced by the return address.',
        { pattern: '^(https?://|/(?!/)).*\\{target\\}' },
      ),
      logoutUrl: text(
        'Where a browser is sent for single logout. {target} is replaced by the return address.',
        {
          pattern: '^(https?://|/(?!/))',
        },
      ),
    },
    ['id', 'kind', 'attributes', 'addresses', 'secretHeader', 'secret'],
  ),
}
