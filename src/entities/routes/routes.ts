import type { FastifyInstance } from 'fastify'
import type { Resume } from '../../admin/processes/routes.ts'
import type { Config } from '../../config/config.ts'
import { reads } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { halPart, readPage, windowOf } from '../../http/hal.ts'
import { parseQuery, type Query, singleParameters } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { requireAdministrator } from '../../http/require-caller.ts'
import { mayUsePart } from '../../model/caller.ts'
import type { Uploads } from '../../model/uploads.ts'
import type { Entities } from '../../storage/entities.ts'
import { knownReader, type NamesInRules } from './declarations.ts'
import { entityRoutes } from './entity-routes.ts'
import { takeUpload } from './import-input.ts'
import { importQuery } from './import-query.ts'
import { importRoutes } from './import-routes.ts'
import { jobOf, parametersOf, workOf } from './import-work.ts'
import { createImports, type Imports } from './imports.ts'
import { versionRoutes } from './version-routes.ts'

const route = contractsIn(() => import('./contracts.ts'))

type Parts = Omit<Parameters<typeof entityRoutes>[1] & Parameters<typeof importRoutes>[1], 'imports'> &
  Parameters<typeof createImports>[0]

/** `{api}/admin/entities…` and `{api}/admin/tables`: administration of entities over HTTP (docs/decisions/0044). */
export async function entityAdministration(
  app: FastifyInstance,
  given: Parts,
): Promise<{ readonly resume: Resume }> {
  const imports = createImports(given)
  const parts = { ...given, imports }
  app.addHook('onClose', imports.close)
  await app.register(
    async scope => {
      // Separate scopes, because they read bodies in different ways.
      await scope.register(async inside => entityRoutes(inside, parts), { prefix: '/entities' })
      await scope.register(async inside => versionRoutes(inside, parts), { prefix: '/entities' })
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

/** `GET {api}/admin/tables`: tables that could be shown as entities, with the entities that show them (EA9). */
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

interface ResumeParts {
  readonly people: NamesInRules
  readonly config: Config
  readonly entities: Entities
  readonly imports: Imports
  readonly uploads?: Uploads
}

/**
 * Imports the file of an upload again, with the same parameters, after an import that didn't finish (PR4): the file is
 * still there, and isn't sent again. An import is done as a whole or not at all, so it begins with the first record.
 */
const resumeImport =
  ({ people, config, entities, imports, uploads }: ResumeParts): Resume =>
  async (process, request) => {
    const { entity, upload, query } = process.parameters
    if (entity === undefined || upload === undefined || query === undefined)
      throw new Problem(
        'process-state',
        'Only an import of an upload can be resumed: what came in the body of a request, or on the command line, is not kept. Begin it again.',
      )
    const { uuid } = requireAdministrator(request.caller).session.eperson
    // The import that it begins belongs to the part `administration` of the API.
    if (!mayUsePart(request.caller, 'administration', 'POST'))
      throw new Problem(
        'access-token-refused',
        'An import needs an access token for POST in the part administration of the API, too.',
      )
    const text = parseQuery(query)
    const given = importQuery(text)
    const asked = { ...given, upload, read: given.read && (await knownReader(given.read, people)) }
    const work = workOf(entity, asked, await entities.all())
    await imports.requireFree(entity)
    const input = await takeUpload(uploads, upload, uuid, asked.format)
    if (!input)
      throw new Problem(
        'not-found',
        'You have no finished upload of this id on this node any more, or it is in use. Send it again.',
      )
    const parameters = { ...parametersOf(text, asked, input), resumes: String(process.id) }
    return imports.begin(request, jobOf(config, request, input, work), input, parameters)
  }
