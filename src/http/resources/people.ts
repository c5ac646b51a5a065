import { type SpecialGroupConfig, specialGroupNames } from '../../config/config.ts'
import {
  administratorGroup,
  agreementField,
  type Eperson,
  type Group,
  type GroupDetails,
} from '../../model/accounts.ts'
import type { Addresses } from '../addresses.ts'
import type { EpersonBody, GroupBody, MetadataBody } from './schemas.ts'

/**
 * An eperson as DSpace's clients know it.
 * @param asksAgreement true if epersons have to accept the end user agreement; otherwise the body says that
 * they have, so that DSpace's interface doesn't ask
 */
export const epersonBody = (eperson: Eperson, addresses: Addresses, asksAgreement: boolean): EpersonBody => ({
  id: eperson.uuid,
  uuid: eperson.uuid,
  name: eperson.email,
  email: eperson.email,
  canLogIn: eperson.enabled,
  requireCertificate: false,
  netid: null,
  metadata: {
    ...metadata('eperson.firstname', eperson.firstName),
    ...metadata('eperson.lastname', eperson.lastName),
    ...(asksAgreement ? {} : metadata(agreementField, 'true')),
    ...Object.assign({}, ...Object.entries(eperson.profile).map(([field, value]) => metadata(field, value))),
  },
  type: 'eperson',
  _links: {
    groups: { href: `${addresses.eperson(eperson.uuid)}/groups` },
    self: { href: addresses.eperson(eperson.uuid) },
  },
})

const metadata = (key: string, value: string | null): MetadataBody =>
  value === null ? {} : { [key]: [{ value, language: null, authority: null, confidence: -1, place: 0 }] }

/** A group as DSpace's clients know it. */
export function groupBody(
  { uuid, name, ...more }: Group | GroupDetails,
  { addresses, config }: { readonly addresses: Addresses; readonly config: SpecialGroupConfig },
): GroupBody {
  const self = addresses.group(uuid)
  return {
    id: uuid,
    uuid,
    name,
    permanent: name === administratorGroup,
    special: specialGroupNames(config).has(name),
    metadata: metadata('dc.description', 'description' in more ? more.description : null),
    type: 'group',
    _links: {
      epersons: { href: `${self}/epersons` },
      object: { href: `${self}/object` },
      self: { href: self },
      subgroups: { href: `${self}/subgroups` },
    },
  }
}
