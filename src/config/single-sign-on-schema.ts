import { closed, secret, text } from './schema-words.ts'

/**
 * The block `singleSignOn` of the configuration file, as JSON Schema (https://json-schema.org/draft-07). The check at the
 * start, the published schema and the tables in docs/reference all come from here.
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
