import type { FastifyInstance } from 'fastify'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn } from '../http/contract.ts'
import { halPart, readPage, windowOf } from '../http/hal.ts'
import { type Query, singleParameters } from '../http/parameters.ts'
import type { Entities } from '../storage/entities.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly entities: Pick<Entities, 'all' | 'tables'>
}

/** Each may have 1,600 columns. */
const maxPage = 100

/** `GET {api}/admin/tables`: what could be shown as an entity, and what is (EA9). */
export function tableRoutes(app: FastifyInstance, { addresses, entities }: Parts): void {
  app.get('/', route('listTables'), async request => {
    const query = request.query as Query
    const { query: text = '' } = singleParameters(query, ['query', 'page', 'size'])
    const asked = readPage(query, maxPage)
    const found = (await entities.tables?.({ text: text.trim(), ...windowOf(asked) })) ?? {
      rows: [],
      total: 0,
    }
    const all = [...(await entities.all()).values()]
    const bodies = found.rows.map(table => ({
      ...table,
      entities: all
        .filter(
          ({ source }) =>
            source.kind === 'exposed' && source.schema === table.schema && source.table === table.name,
        )
        .map(({ name }) => name)
        .toSorted(),
    }))
    return halPart('tables', bodies, found.total, asked, `${addresses.api}/admin/tables`)
  })
}
