import { closed, secret, switchOf, text } from './schema-words.ts'

/** What each kind of provider takes, as JSON Schema; checked at the start, and published. */
const attribute = (description: string, fallback?: string) =>
  text(description, fallback === undefined ? {} : { default: fallback })

const condition = {
  attribute: text('The attribute or claim to look at; of nested claims a path with dots.'),
  value: text('The exact value that counts.'),
  pattern: text('A regular expression, instead of a value; what it matches as a whole counts.', {
    format: 'regex',
  }),
}
const groupRule = closed(
  {
    group: text('The special group; it is created if it does not exist. Never Administrator.'),
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
  ...['password', 'command-line', 'login', 'logout', 'status', 'shortlivedtokens', 'sso'],
  ...['basic', 'bearer', 'digest', 'negotiate', 'ntlm'],
]

/** What every provider has, with the defaults of its kind. */
const common = (scheme: string, verified: string, names: Attributes) => ({
  id: text('Its name in addresses and in the audit trail. Never change it: identities are kept under it.', {
    pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
  }),
  name: text('Its name for people, on the page where one of several is chosen. Default: the id.'),
  scheme: text('The scheme in WWW-Authenticate; providers may share one.', {
    default: scheme,
    pattern: '^[A-Za-z][A-Za-z0-9-]{0,31}$',
    not: { enum: takenSchemes },
  }),
  attributes: {
    description: 'Which attribute or claim is what.',
    default: {},
    ...closed(
      {
        subject: attribute('Who it is: stable, and never given to anybody else.', names.subject),
        email: attribute('The e-mail address.', names.email),
        firstName: attribute('The first name.', names.firstName),
        lastName: attribute('The last name.', names.lastName),
        emailVerified: attribute(
          'What says that the address is verified (true or 1), where email.verified is claim.',
          names.emailVerified,
        ),
      },
      names.subject === undefined ? ['subject'] : [],
    ),
  },
  email: {
    description: 'How far its e-mail addresses are trusted.',
    default: {},
    ...closed({
      verified: {
        enum: ['always', 'claim', 'never'],
        default: verified,
        description:
          'Whether an address is verified: always, when attributes.emailVerified says so (claim), or never. Others are ignored.',
      },
      domains: {
        type: 'array',
        items: text('A domain such as example.edu.', { pattern: '^[^@*\\s]+$' }),
        minItems: 1,
        description: 'Addresses of other domains are ignored. Default: every domain counts.',
      },
      match: switchOf('Whether an eperson that has the address already is the one that logs in.'),
    }),
  },
  create: switchOf('Whether an eperson is created at the first login.'),
  require: {
    type: 'array',
    items: closed(condition, ['attribute']),
    maxItems: 50,
    default: [],
    description:
      'What must hold for anybody to be let in, all of it. Default: nothing more than to be vouched for.',
  },
  groups: {
    type: 'array',
    items: groupRule,
    maxItems: 200,
    default: [],
    description: 'Which values of which attributes give which special groups.',
  },
})

export const providerSchemas = {
  saml: closed(
    {
      kind: { const: 'saml' },
      ...common('shibboleth', 'always', {
        subject: 'NameID',
        email: 'urn:oid:0.9.2342.19200300.100.1.3',
        firstName: 'urn:oid:2.5.4.42',
        lastName: 'urn:oid:2.5.4.4',
      }),
      metadata: text('The file with its metadata; read again when it changes.'),
      entityId: text('Its entity id, if the file describes several.'),
      nameIdFormat: text('The NameID format to ask for. Default: whatever the provider gives.'),
    },
    ['id', 'kind', 'metadata'],
  ),
  oidc: closed(
    {
      kind: { const: 'oidc' },
      ...common('oidc', 'claim', {
        subject: 'sub',
        email: 'email',
        firstName: 'given_name',
        lastName: 'family_name',
        emailVerified: 'email_verified',
      }),
      issuer: text('Its issuer identifier; the rest is discovered. Http only on this machine.', {
        pattern: '^https?://[^?#]+$',
      }),
      clientId: text('The id under which Carrel is registered there.'),
      clientSecret: secret('The secret that belongs to it; without one Carrel is a public client.'),
      clientAuthentication: {
        enum: ['basic', 'post'],
        default: 'basic',
        description: 'How the secret is sent: as Basic authentication or in the form.',
      },
      scopes: {
        type: 'array',
        items: text('A scope.', { pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' }),
        default: ['openid', 'profile', 'email'],
        contains: { const: 'openid' },
        description: 'What is asked for.',
      },
      userInfo: switchOf('Whether claims are also taken from the userinfo endpoint.'),
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
            ],
          },
        },
        default: {},
        description: 'Further parameters of the authorization request, such as prompt or acr_values.',
      },
    },
    ['id', 'kind', 'issuer', 'clientId'],
  ),
  proxy: closed(
    {
      kind: { const: 'proxy' },
      ...common('shibboleth', 'always', {}),
      addresses: {
        type: 'array',
        items: text('An IP address or a network.'),
        minItems: 1,
        description: 'Where the proxy connects from: addresses of connections, not what a header says.',
      },
      secretHeader: text('The header in which the proxy sends the shared secret.', {
        pattern: '^[A-Za-z0-9-]{1,64}$',
      }),
      secret: secret('The shared secret, of 16 characters or more.'),
      separator: text('What stands between several values in a header; a backslash takes its meaning away.', {
        default: ';',
        pattern: '^[^A-Za-z0-9\\\\ ]$',
      }),
      loginUrl: text(
        'Where a browser goes when the proxy has brought nothing; {target} becomes the address to return to.',
        { pattern: '^(https?://|/(?!/)).*\\{target\\}' },
      ),
      logoutUrl: text('Where single logout goes; {target} becomes the address to return to.', {
        pattern: '^(https?://|/(?!/))',
      }),
    },
    ['id', 'kind', 'attributes', 'addresses', 'secretHeader', 'secret'],
  ),
}
