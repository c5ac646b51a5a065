import type { FastifyInstance } from 'fastify'
import { type Eperson, isAdministrator } from '../caller.ts'
import type { Addresses } from '../http/addresses.ts'
import { allowOnly } from '../http/methods.ts'
import { Problem } from '../problems.ts'
import type { Accounts } from '../storage/storage.ts'
import { requireEperson } from './authenticate.ts'

/** An eperson as DSpace's clients know it. */
export const epersonBody = (eperson: Eperson, addresses: Addresses) => ({
  id: eperson.uuid,
  uuid: eperson.uuid,
  name: eperson.email,
  email: eperson.email,
  canLogIn: eperson.enabled,
  metadata: {
    ...metadata('eperson.firstname', eperson.firstName),
    ...metadata('eperson.lastname', eperson.lastName),
  },
  type: 'eperson',
  _links: { self: { href: addresses.eperson(eperson.uuid) } },
})

const metadata = (key: string, value: string | null) =>
  value === null ? {} : { [key]: [{ value, language: null, authority: null, confidence: -1, place: 0 }] }

interface Parts {
  readonly accounts: Accounts
  readonly addresses: Addresses
}

/** `GET /api/eperson/epersons/{uuid}`: the own record, or any for an administrator (S4). */
export function epersonRoutes(app: FastifyInstance, { accounts, addresses }: Parts): void {
  const url = '/eperson/epersons/:uuid'
  app.get<{ Params: { uuid: string } }>(url, async request => {
    const caller = requireEperson(request.caller)
    const wanted = request.params.uuid.toLowerCase()
    if (wanted !== caller.session.eperson.uuid && !isAdministrator(caller))
      throw new Problem('access-denied', 'An eperson may read its own record; others are for administrators.')
    const eperson = await accounts.eperson(wanted)
    if (!eperson) throw new Problem('not-found', 'There is no eperson with this uuid.')
    return epersonBody(eperson, addresses)
  })
  allowOnly(app, url, ['GET', 'HEAD'])
}
