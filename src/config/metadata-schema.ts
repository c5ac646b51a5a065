import { closed, text } from './schema-words.ts'

/** What federations use to say of whom they speak: eduPerson and SAML Subject Identifier Attributes. */
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

/** Where a SAML provider's metadata is, and for which identity providers in it an entry stands. */
export const metadataSchema = {
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
