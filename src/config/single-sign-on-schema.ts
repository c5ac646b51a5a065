/** Building blocks of the configuration schemas. */
export const text = (description: string, more: object = {}) => ({
  type: 'string',
  minLength: 1,
  description,
  ...more,
})
const switchOf = (description: string, fallback = false) => ({
  type: 'boolean',
  default: fallback,
  description,
})
export const closed = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
})

/** A reference to a secret, never the secret itself, so that the file can be shared. */
const secret = (description: string) => ({
  description: `${description} Where it is: {"env": "NAME"} or {"file": "path"}.`,
  ...closed({
    env: text('The environment variable that holds it.', { pattern: '^[A-Z][A-Z0-9_]*$' }),
    file: text('The file that holds it. A final line ending is ignored.'),
  }),
  title: '{"env": "NAME"} or {"file": "path"}, which says where the secret is',
  minProperties: 1,
  maxProperties: 1,
})

/** Attributes with a scope that federations use: eduPerson and SAML Subject Identifier Attributes. */
const scopedAttributes = [
  'urn:oid:1.3.6.1.4.1.5923.1.1.1.6',
  'urn:oid:1.3.6.1.4.1.5923.1.1.1.9',
  'urn:oid:1.3.6.1.4.1.5923.1.1.1.13',
  'urn:oasis:names:tc:SAML:attribute:subject-id',
  'urn:oasis:names:tc:SAML:attribute:pairwise-id',
]

const federation = {
  description:
    'Lets this entry stand for all identity providers in its metadata, or for those that meet these rules. Users choose theirs on a page.',
  ...closed({
    requireRegistrationAuthority: {
      type: 'array',
      items: text('A registration authority, as it is in the metadata.'),
      minItems: 1,
      description: 'Only identity providers that one of these has registered. Default: all.',
    },
    requireEntityAttributes: {
      type: 'array',
      items: closed({ name: text('The name of the entity attribute.'), value: text('One of its values.') }, [
        'name',
        'value',
      ]),
      maxItems: 20,
      default: [],
      description: 'Only identity providers whose metadata has all of these entity attributes.',
    },
    discoveryUrl: text(
      'The address of an external discovery service. Default: a page of Carrel, where users search.',
      { pattern: '^https?://[^#]+$' },
    ),
    scopedAttributes: {
      type: 'array',
      items: text('The name of an attribute.'),
      default: scopedAttributes,
      description:
        'Attributes whose values end in @ and a scope. A value counts only if the metadata of the identity provider has the scope (shibmd:Scope). Only these attributes can give groups.',
    },
  }),
}

/**
 * JSON Schema of a SAML provider's metadata, and of the identity providers in it for which an entry stands.
 */
const metadataSchema = {
  metadata: text(
    'The metadata of the provider: a file, which is read again when it changes, or an https address.',
  ),
  metadataRefresh: {
    type: 'integer',
    minimum: 1,
    default: 3600,
    description:
      'Seconds between two requests, if the metadata is at an address and its cacheDuration is not less. At least 60, except for loopback addresses.',
  },
  metadataQuery: text(
    'Instead of metadata: the https address of a metadata query server (MDQ), without /entities.',
  ),
  metadataCertificate: text(
    'The file with the certificate of the federation (PEM; may hold several). The metadata must be signed with its key. Default: no signature is checked.',
  ),
  entityId: text('The entity id of the provider, if its metadata describes several.'),
  federation,
}

/** JSON Schema of the trust in e-mail addresses of a provider. */
const emailSchema = (verified: object) => ({
  description: 'How far the e-mail addresses of this provider are trusted.',
  default: {},
  ...closed({
    verified,
    domains: {
      type: 'array',
      items: text('A domain such as example.edu.', { pattern: '^[^@*\\s]+$' }),
      minItems: 1,
      description: 'Addresses in other domains are ignored. Default: all domains are accepted.',
    },
    match: switchOf('Whether a login is linked to the existing eperson with this address.'),
  }),
})

const whenVerified =
  'When an address counts as verified: always, when attributes.emailVerified says so (claim), or never. Unverified addresses are ignored.'
const verified = (fallback: string) => ({
  enum: ['always', 'claim', 'never'],
  default: fallback,
  description: whenVerified,
})

const verifiedOfSaml = {
  enum: ['always', 'claim', 'scope', 'never'],
  description: `${whenVerified} With scope, an address counts if its domain is a scope of the identity provider in the metadata (shibmd:Scope), or below one. Default: always; for a federation scope, and there only scope and never are possible.`,
}

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

/**
 * Reserved names: other ways to log in, addresses beside it, and schemes for which browsers ask by
 * themselves.
 */
export const takenSchemes = [
  ...['password', 'ldap', 'command-line', 'login', 'logout', 'status', 'shortlivedtokens', 'sso'],
  ...['access-token', 'sessions', 'tokens'],
  ...['basic', 'bearer', 'digest', 'negotiate', 'ntlm'],
]

/** Members of every provider, with the defaults of its kind. */
const common = (scheme: string, verified: object, names: Attributes) => ({
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

/** Members of providers that can be asked for a fresh sign-on. */
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

/** @param what description of one value */
const oneOf = (what: string, description: string) => ({
  type: 'array',
  items: text(what, { pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' }),
  minItems: 1,
  maxItems: 10,
  uniqueItems: true,
  description,
})

/** JSON Schema of each kind of provider that browsers are sent to; checked at the start, and published. */
const providerSchemas = {
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

/** JSON Schema of an LDAP directory; checked at the start, and published (docs/decisions/0033). */
const directorySchema = closed(
  {
    kind: { const: 'ldap' },
    ...common('ldap', verified('always'), {
      subject: 'entryUUID',
      email: 'mail',
      firstName: 'givenName',
      lastName: 'sn',
    }),
    scheme: { const: 'ldap', default: 'ldap', description: 'The login method. It is always ldap.' },
    servers: {
      type: 'array',
      items: text('ldaps://host or ldap://host, with :port if it is another one.', {
        pattern: '^ldaps?://[^/?#@\\s]+/?$',
      }),
      minItems: 1,
      maxItems: 10,
      description: 'The servers of one directory. If the first cannot be used, the next one is asked.',
    },
    startTls: switchOf(
      'Whether TLS begins on connections to ldap:// servers before anything else is sent.',
      true,
    ),
    allowUnencrypted: switchOf(
      'Whether passwords may be sent unencrypted to a server that is not on this machine.',
    ),
    ca: text('The file with the certificates (PEM) to trust instead of those that Node trusts.'),
    timeout: {
      type: 'number',
      minimum: 0.1,
      maximum: 60,
      default: 5,
      description: 'The time limit for one login at one server, in seconds.',
    },
    connections: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000,
      default: 8,
      description: 'The maximum number of logins at the directory at a time, for each node. Others wait.',
    },
    dn: text('The DN to log in with. {user} is replaced by what the person types. Or use search.'),
    search: {
      description: 'How to find the entry of a person. Or use dn.',
      ...closed(
        {
          base: text('The DN below which people are.'),
          filter: text('The filter. {user} is replaced by what the person types.', {
            default: '(uid={user})',
          }),
          bindDn: text('The DN of the account that searches. Default: the search is anonymous.'),
          bindPassword: secret('The password of that account.'),
        },
        ['base'],
      ),
      dependencies: { bindDn: ['bindPassword'], bindPassword: ['bindDn'] },
    },
    groupSearch: {
      description:
        'For directories whose groups list their members: the DNs of the groups that are found become values of memberOf.',
      ...closed(
        {
          base: text('The DN below which groups are.'),
          filter: text('The filter. {dn} is replaced by the DN of the person.', { default: '(member={dn})' }),
        },
        ['base'],
      ),
    },
  },
  ['id', 'kind', 'servers'],
)

/** Schemas of all kinds of providers. */
export const allProviderSchemas = { ...providerSchemas, ldap: directorySchema }

/**
 * The block `singleSignOn` of the configuration file, as JSON Schema (https://json-schema.org/draft-07). The
 * check at the start, the published schema and the tables in docs/reference all come from here.
 */
export const signOnSchema = closed(
  {
    methods: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      uniqueItems: true,
      description:
        'The login methods, in the order of WWW-Authenticate. A method that is not listed is disabled. Default: password, then the schemes of the providers.',
    },
    defaultRedirectUrl: text(
      'Where a browser is sent after a login or logout without a redirect address. Its origin must be allowed. Default: the first of CARREL_ALLOWED_ORIGINS.',
    ),
    saml: {
      description: 'Carrel as a SAML service provider.',
      default: {},
      ...closed({
        entityId: text(
          'The entity id of Carrel. Default: the address of its metadata, {base_url}/api/authn/sso/saml/metadata.',
        ),
        privateKey: secret('The private key of Carrel (PEM), for signing and decrypting.'),
        certificate: secret('The certificate of that key (PEM).'),
        clockSkew: {
          type: 'integer',
          minimum: 0,
          maximum: 300,
          default: 60,
          description: 'The clock skew that is tolerated, in seconds.',
        },
      }),
      dependencies: { privateKey: ['certificate'], certificate: ['privateKey'] },
    },
    providers: {
      type: 'array',
      minItems: 1,
      description: 'The providers, in display order.',
    },
  },
  ['providers'],
)
