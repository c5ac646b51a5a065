import { closed, secret, text } from './schema-words.ts'

/**
 * What the block `singleSignOn` of the configuration file takes, as JSON Schema (https://json-schema.org/draft-07): it is
 * checked at the start, published, and made into the tables of docs/reference, all from here.
 */
export const signOnSchema = closed(
  {
    methods: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      uniqueItems: true,
      description:
        'The ways to log in, in the order of WWW-Authenticate; one that is left out is switched off. Default: password, then the schemes of the providers.',
    },
    defaultRedirectUrl: text(
      'Where a browser goes after a login or logout that named no address; its origin must be allowed. Default: the first of CARREL_ALLOWED_ORIGINS.',
    ),
    saml: {
      description: 'Carrel as a SAML service provider.',
      default: {},
      ...closed({
        entityId: text(
          'Its entity id. Default: the address of its metadata, {base_url}/api/authn/sso/saml/metadata.',
        ),
        privateKey: secret('Its private key (PEM), for signing and decrypting.'),
        certificate: secret('The certificate of the key (PEM).'),
        clockSkew: {
          type: 'integer',
          minimum: 0,
          maximum: 300,
          default: 60,
          description: 'Seconds that the clocks may differ.',
        },
      }),
      dependencies: { privateKey: ['certificate'], certificate: ['privateKey'] },
    },
    providers: {
      type: 'array',
      minItems: 1,
      description: 'The providers, in the order in which they are shown.',
    },
  },
  ['providers'],
)
