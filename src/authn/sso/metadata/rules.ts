import type { FederationConfig } from '../../../config/providers.ts'
import type { Idp, IdpListing } from './idp.ts'

/** Longer entity ids don't fit into the cookie of a login; real ones have less than 200 characters. */
const maxEntityId = 512

/** Whether an entry that stands for a federation stands for this identity provider too. */
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
