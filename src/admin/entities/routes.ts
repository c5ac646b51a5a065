import type { FastifyInstance } from 'fastify'
import { reads } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { halPart, readPage, windowOf } from '../../http/hal.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import type { Entities } from '../../storage/entities.ts'
import type { Resume } from '../processes/routes.ts'
import { entityRoutes } from './entity-routes.ts'
import { importRoutes } from './import-routes.ts'
import { createImports } from './imports.ts'
import { resumeImport } from './resume-import.ts'

const route = contractsIn(() => import('./contracts.ts'))

type Parts = Omit<Parameters<typeof entityRoutes>[1] & Parameters<typeof importRoutes>[1], 'imports'> &
  Parameters<typeof createImports>[0]

/**
 * `{api}/admin/entities…` and `{api}/admin/tables`: administration of entities over HTTP
 * (docs/decisions/0044).
 */
export async function adminRoutes(app: FastifyInstance, given: Parts): Promise<{ readonly resume: Resume }> {
  const imports = createImports(given)
  const parts = { ...given, imports }
  app.addHook('onClose', imports.close)
  await app.register(
    async scope => {
      // Separate scopes, because they read bodies in different ways.
      await scope.register(async inside => entityRoutes(inside, parts), { prefix: '/entities' })
      await scope.register(async inside => importRoutes(inside, parts), { prefix: '/entities' })
      await scope.register(async inside => tableRoutes(inside, parts), { prefix: '/tables' })
    },
    { prefix: '/admin' },
  )
  return { resume: resumeImport(parts) }
}

interface TableParts {
  readonly addresses: Addresses
  readonly entities: Pick<Entities, 'all' | 'tables'>
}

/** Maximum number of tables on a page: each may have 1,600 columns. */
const maxPage = 100

/**
 * `GET {api}/admin/tables`: tables that could be shown as entities, with the entities that show them (EA9).
 */
function tableRoutes(app: FastifyInstance, { addresses, entities }: TableParts): void {
  routesOf(app).get('/', route('listTables', reads('administrator', 'administration')), async request => {
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
