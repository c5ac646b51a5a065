import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AskAgain } from '../authn/ask-again.ts'
import { eventOf } from '../authn/audit.ts'
import type { Config } from '../config/config.ts'
import { signalOf } from '../http/client.ts'
import { contractsIn } from '../http/contract.ts'
import { badParameter, type Query } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { requireAdministrator } from '../http/require-eperson.ts'
import { checkName } from '../import/import-entity.ts'
import { ImportError } from '../import/import-error.ts'
import { Overloaded } from '../lib/fair-queue.ts'
import type { Entity } from '../model/entities.ts'
import type { Uploads } from '../model/uploads.ts'
import type { Accounts } from '../storage/accounts.ts'
import type { Entities } from '../storage/entities.ts'
import { known, requireGroup, requireOwn } from './declarations.ts'
import { type Input, inputOf } from './import-input.ts'
import type { Job } from './import-job.ts'
import { type ImportQuery, importQuery } from './import-options.ts'
import { runImport } from './import-process.ts'
import type { Imports } from './imports.ts'
import { refused } from './refused.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly accounts: Pick<Accounts, 'listGroups'>
  /** After a body that may have come for hours. */
  readonly askAgain: AskAgain
  readonly config: Config
  readonly entities: Entities
  readonly imports: Imports
  /** undefined: only bodies can be imported. */
  readonly uploads?: Uploads
}

/** Bodies that an event loop receives at once, and previews that it makes. */
const maxReceiving = 4
const maxPreviews = 2
/** `POST {api}/admin/entities/{name}/import` (EA5 to EA8), below a scope for administrators. */
export function importRoutes(app: FastifyInstance, parts: Parts): void {
  const { accounts, askAgain, config, entities, imports } = parts
  const receiving = new Set<string>()
  let previews = 0
  // The handler reads the body, when it knows that it wants it.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, body, done) => done(null, body))

  app.post<{ Params: { name: string } }>('/:name/import', route('importRecords'), async (request, reply) => {
    const { name } = request.params
    const asked = importQuery(request.query as Query)
    await requireGroup(asked.read ?? undefined, accounts)
    const work = workOf(name, asked, await entities.all())
    if (asked.preview) return runPreview(request, asked, work)

    await imports.requireFree(name)
    if (receiving.has(name))
      throw new Problem('entity-conflict', `Records of ${name} are being sent already. Wait for their end.`)
    const input = await received(request, name, asked)
    try {
      await askAgain(request)
      requireAdministrator(request.caller)
    } catch (error) {
      await input.close(false)
      throw error
    }
    const { key, read, mode } = asked
    const process = await imports.begin(request, jobOf(request, input, work), input, {
      mode,
      file: input.name,
      bytes: String(input.bytes),
      ...(key && { key: key.join(', ') }),
      ...(read && { read }),
    })
    return reply.code(202).header('location', imports.addressOf(process)).send(imports.describe(process))
  })

  const jobOf = (request: FastifyRequest, input: Input, work: Job['work']): Job => ({
    config,
    file: input.name,
    format: input.format,
    work,
    event: eventOf(request.caller, request, {
      event: work.kind === 'import' ? 'entity.import' : 'entity.update',
      outcome: 'success',
      object: work.name,
    }),
  })

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

  async function runPreview(request: FastifyRequest, asked: ImportQuery, work: Job['work']) {
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
        return await runImport(jobOf(request, input, work), input.descriptor, {
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

/** @throws Problem 409 for a name of another kind, 404 for changes of what isn't there, 400 for a missing or wrong key */
function workOf(name: string, asked: ImportQuery, all: ReadonlyMap<string, Entity>): Job['work'] {
  requireOwn(name)
  const { mode, key, read, types, collations, preview } = asked
  const kind = mode === 'replace' ? 'import' : mode
  const before = kind === 'import' ? all.get(name) : known(all, name)
  if (before && before.source.kind !== 'records')
    throw new Problem(
      'entity-conflict',
      `${name} shows a table; its rows are not imported. Delete the entity first, or choose another name.`,
    )
  try {
    checkName(name)
  } catch (error) {
    if (error instanceof ImportError) throw refused('', `${error.message}.`)
    throw error
  }
  const own = before && [before.key].flat()
  if (kind !== 'import' && key && JSON.stringify(key) !== JSON.stringify(own))
    throw badParameter(
      'key',
      key.join(),
      `The key of ${name} is ${own?.join(', ')}; leave the parameter key out.`,
    )
  const wanted = key ?? own
  if (!wanted)
    throw badParameter(
      'key',
      '',
      'The parameter key is missing: it names the field that identifies a record, or several.',
    )
  const [first, ...more] = wanted
  return {
    ...{ kind, preview, name, read, types, collations },
    key: first !== undefined && more.length === 0 ? first : wanted,
  }
}
