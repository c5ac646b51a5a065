import { closed, switchOf, text } from './schema-words.ts'

/** How far e-mail addresses of a provider are trusted, as JSON Schema. */
export const emailSchema = (verified: object) => ({
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
export const verified = (fallback: string) => ({
  enum: ['always', 'claim', 'never'],
  default: fallback,
  description: whenVerified,
})

export const verifiedOfSaml = {
  enum: ['always', 'claim', 'scope', 'never'],
  description: `${whenVerified} With scope, an address counts if its domain is a scope of the identity provider in the metadata (shibmd:Scope), or below one. Default: always; for a federation scope, and there only scope and never are possible.`,
}
