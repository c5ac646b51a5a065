import type { FederationConfig } from '../../config/providers.ts'
import type { Idp, IdpListing } from './idp.ts'

/**
 * Maximum length of an entity id: longer ones don't fit into a login's cookie, and real ones have fewer than
 * 200 characters.
 */
const maxEntityId = 512

/** True if an entry for a federation includes this identity provider. */
export const isLetIn = (
  { metadata, listing }: Idp,
  { requireRegistrationAuthority, requireEntityAttributes }: FederationConfig,
): boolean =>
  metadata.entityId.length <= maxEntityId &&
  (requireRegistrationAuthority === null ||
    requireRegistrationAuthority.some(one => one === listing.registrationAuthority)) &&
  requireEntityAttributes.every(({ name, value }) => hasAttribute(listing, name, value))

export const hasAttribute = ({ entityAttributes }: IdpListing, name: string, value: string): boolean =>
  entityAttributes.some(one => one[0] === name && one[1] === value)
