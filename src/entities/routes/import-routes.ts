import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { type Body, changes } from '../../http/access.ts'
import { signalOf } from '../../http/connection.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { lookAgain } from '../../http/guard.ts'
import type { Query } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { Overloaded } from '../../lib/fair-queue.ts'
import type { Uploads } from '../../model/uploads.ts'
import type { Entities } from '../../storage/entities.ts'
import { knownReader, type NamesInRules } from './declarations.ts'
import { type Input, inputOf } from './import-input.ts'
import type { ImportWork } from './import-job.ts'
import { runImport } from './import-process.ts'
import { type ImportQuery, importQuery } from './import-query.ts'
import { jobOf, parametersOf, workOf } from './import-work.ts'
import type { Imports } from './imports.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly people: NamesInRules
  readonly config: Config
  readonly entities: Entities
  readonly imports: Imports
  /** Undefined if only bodies can be imported. */
  readonly uploads?: Uploads
}

const importBody: Body = {
  types: [
    'text/csv',
    'application/x-ndjson',
    'application/json',
    'application/gzip',
    'application/octet-stream',
  ],
  limit: 'CARREL_IMPORT_SIZE',
  optional: true,
}

/** Maximum number of bodies that an event loop receives at once, and of previews that it makes at once. */
const maxReceiving = 4
const maxPreviews = 2
/** `POST {api}/admin/entities/{name}/import` (EA5 to EA8), below a scope for administrators. */
export function importRoutes(app: FastifyInstance, parts: Parts): void {
  const { people, config, entities, imports } = parts
  const receiving = new Set<string>()
  let previews = 0
  // The handler reads the body itself, once all checks have passed.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, body, done) => done(null, body))

  routesOf(app).post<{ Params: { name: string } }>(
    '/:name/import',
    route('importRecords', changes('administrator', 'administration', importBody)),
    async (request, reply) => {
      const { name } = request.params
      const given = importQuery(request.query as Query)
      const asked = { ...given, read: given.read && (await knownReader(given.read, people)) }
      const work = workOf(name, asked, await entities.all())
      if (asked.preview) return runPreview(request, reply, asked, work)

      await imports.requireFree(name)
      if (receiving.has(name))
        throw new Problem('entity-conflict', `Records of ${name} are being sent already. Wait for their end.`)
      const input = await received(request, name, asked)
      try {
        await lookAgain(request, reply)
      } catch (error) {
        await input.close(false)
        throw error
      }
      const job = jobOf(config, request, input, work)
      const process = await imports.begin(
        request,
        job,
        input,
        parametersOf(request.query as Query, asked, input),
      )
      return imports.send(reply, process)
    },
  )

  async function received(request: FastifyRequest, name: string, asked: ImportQuery): Promise<Input> {
    if (receiving.size >= maxReceiving)
      throw new Overloaded(`${maxReceiving} files are being received already. Try again when one has come.`)
    receiving.add(name)
    try {
      return await inputOf(request, asked, parts.uploads, {
        folder: entities.scratchFolder,
        maxBytes: config.importSize,
        patience: config.requestTimeout * 1000,
      })
    } finally {
      receiving.delete(name)
    }
  }

  async function runPreview(
    request: FastifyRequest,
    reply: FastifyReply,
    asked: ImportQuery,
    work: ImportWork,
  ) {
    if (previews >= maxPreviews)
      throw new Overloaded(`${maxPreviews} previews are being made already. Try again in a moment.`)
    previews++
    try {
      const input = await inputOf(request, asked, parts.uploads, {
        folder: entities.scratchFolder,
        maxBytes: config.importSize,
        patience: config.requestTimeout * 1000,
      })
      try {
        await lookAgain(request, reply)
        return await runImport(jobOf(config, request, input, work), await input.descriptor(), {
          signal: AbortSignal.any([signalOf(request), imports.stopping]),
          progress: () => {},
        })
      } finally {
        await input.close(false)
      }
    } finally {
      previews--
    }
  }
}
