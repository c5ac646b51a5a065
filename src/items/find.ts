import type { FastifyInstance } from 'fastify'
import type { Config, SpecialGroupConfig } from '../config/config.ts'
import { openRightTo, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { badParameter, type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { epersonBody, groupBody } from '../http/resources/people.ts'
import { readUuid } from '../lib/uuids.ts'
import { type Caller, isAdministrator } from '../model/caller.ts'
import type { Accounts } from '../model/people.ts'
import { readableBitstream, readableItem } from './access.ts'
import { bitstreamBody, itemBody } from './bodies.ts'
import type { Repository } from './statements/repository.ts'

const route = contractsIn(() => import('./contracts.ts'))
const toReaders = reads(openRightTo('read the object'), 'items')

interface Parts {
  readonly people: Pick<Accounts, 'eperson' | 'group'>
  readonly addresses: Addresses
  readonly asksAgreement: boolean
  readonly config: Pick<Config, 'hiddenMetadata'> & SpecialGroupConfig
  readonly repository: Repository
}

/**
 * `GET /api/pid/find?id=` and `GET /api/dso/find?uuid=`: the object with an identifier. DSpace's interface requests it
 * for its addresses `/handle/…` and `/uuid/…` (dso-redirect.service.ts), and then shows the page of the object.
 */
export function findRoutes(app: FastifyInstance, parts: Parts): void {
  const routes = routesOf(app)
  const { addresses, asksAgreement, config, people, repository } = parts
  const shown = { config, repository }
  const core = `${addresses.api}/core`

  const item = async (caller: Caller, uuid: string) => itemBody(await readableItem(shown, caller, uuid), core)

  routes.get('/pid/find', route('findByIdentifier', toReaders), async ({ caller, query }) => {
    const identifier = required(query as Query, 'id').replace(/^hdl:/i, '')
    const uuid = await repository.uuidOf(identifier)
    if (uuid === undefined) throw new Problem('not-found', 'There is no item with this identifier.')
    return item(caller, uuid)
  })
  routes.get('/dso/find', route('findByUuid', toReaders), async ({ caller, query }) => {
    const uuid = readUuid(required(query as Query, 'uuid'))
    if (uuid !== undefined && (await repository.item(uuid))) return item(caller, uuid)
    if (uuid !== undefined && (await repository.bitstream(uuid)))
      return bitstreamBody(await readableBitstream(repository, caller, uuid), core)
    // The interface's page for audit events links to people and groups, too.
    if (uuid !== undefined && isAdministrator(caller)) {
      const eperson = await people.eperson(uuid)
      if (eperson) return epersonBody(eperson, addresses, asksAgreement)
      const group = await people.group(uuid)
      if (group) return groupBody(group, { addresses, config })
    }
    throw new Problem('not-found', 'There is no item and no file with this UUID.')
  })
}

function required(query: Query, name: string): string {
  const value = single(query, name)
  if (!value) throw badParameter(name, '', `The parameter ${name} is missing or empty.`)
  return value
}

/** URI templates (RFC 6570), as DSpace's root has them. */
export const findLinks = ({ api }: Pick<Addresses, 'api'>) => ({
  dso: { href: `${api}/dso/find{?uuid}`, templated: true },
  pid: { href: `${api}/pid/find{?id}`, templated: true },
})
