import { verified } from './email-schema.ts'
import { common, providerSchemas } from './provider-schemas.ts'
import { closed, secret, switchOf, text } from './schema-words.ts'

/** What an LDAP directory takes, as JSON Schema; checked at the start, and published (docs/decisions/0033). */
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

/** All kinds of providers. */
export const allProviderSchemas = { ...providerSchemas, ldap: directorySchema }
