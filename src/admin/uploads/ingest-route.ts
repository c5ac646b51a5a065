import { rm } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { type Body, changes } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { allowSlowBody, endSlowBody } from '../../http/body-pieces.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { lookAgain } from '../../http/guard.ts'
import { badParameter, type Query, singleParameters } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { requireAdministrator, requireCaller } from '../../http/require-caller.ts'
import { ImportError } from '../../import/import-error.ts'
import { BadItem } from '../../items/ingest/item.ts'
import { parseReaders } from '../../items/ingest/readers.ts'
import { ownProcessId } from '../../lib/process-ids.ts'
import { type Report, runInChild } from '../../lib/threads/child.ts'
import { detached } from '../../model/audit-events.ts'
import { mayUsePart } from '../../model/caller.ts'
import type { Process, Run, StartProcess } from '../../model/processes.ts'
import type { Readers } from '../../model/readers.ts'
import type { People } from '../../people/statements.ts'
import { sendBegun } from '../processes/bodies.ts'
import { percent } from '../processes/processes.ts'
import type { Resume } from '../processes/routes.ts'
import { admitUpload } from './admit.ts'
import { makeUnpacked } from './folder.ts'
import type { IngestJob } from './ingest-job.ts'
import { createUploads, newUploadId, type UploadPlace } from './place.ts'
import { receive } from './receive.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly people: Pick<People, 'listGroups'>
  readonly addresses: Addresses
  readonly config: Config
  readonly place: UploadPlace
  readonly start: StartProcess
}

const names = ['upload', 'read', 'from', 'until', 'addOnly', 'dryRun', 'name'] as const
type Given = Partial<Record<(typeof names)[number], string>>

const mediaTypes = ['application/zip', 'application/gzip', 'application/x-tar', 'application/octet-stream']
const archiveBody: Body = { types: mediaTypes, limit: 'CARREL_UPLOAD_SIZE', optional: true }

/** Ingests of uploads. */
class Ingests {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Begins an ingest as a request asks for it. */
  async beginAsked(request: FastifyRequest, reply: FastifyReply): Promise<Process> {
    const { people, place } = this.#parts
    const eperson = requireCaller(request.caller).session.eperson.uuid
    const { upload, ...given } = singleParameters(request.query as Query, names)
    // Parameters are checked before anything is kept.
    readersOf(given, new Set((await people.listGroups()).map(({ name }) => name)))
    flag('addOnly', given.addOnly)
    flag('dryRun', given.dryRun)
    const hasBody =
      Number(request.headers['content-length'] ?? 0) > 0 || 'transfer-encoding' in request.headers
    if (upload !== undefined && hasBody)
      throw new Problem('bad-request', 'Give an upload or send a body, not both.')
    if (given.name?.trim() === '')
      throw badParameter(
        'name',
        given.name,
        'The parameter name is empty; it takes what the source is called.',
      )
    const sent = upload === undefined ? '' : await this.requireUpload(upload, eperson)
    const id = upload ?? (await this.#keepBody(request, eperson))
    try {
      await lookAgain(request, reply)
      return await this.begin(request, id, sent, given)
    } catch (error) {
      if (upload === undefined) await place.remove(id)
      throw error
    }
  }

  async begin(
    request: FastifyRequest,
    upload: string,
    sent: string,
    given: Given,
    resumes?: number,
  ): Promise<Process> {
    const { config, people, start } = this.#parts
    const eperson = requireCaller(request.caller).session.eperson.uuid
    const groups = new Set((await people.listGroups()).map(({ name }) => name))
    const job = {
      config,
      groups,
      read: readersOf(given, groups),
      addOnly: flag('addOnly', given.addOnly),
      dryRun: flag('dryRun', given.dryRun),
      name: given.name === undefined ? null : nameOf(given.name),
      sent: nameOf(sent),
      event: detached(eventOf(request.caller, request, { event: 'item.add', outcome: 'success' })),
    }
    const event = resumes === undefined ? 'process.start' : 'process.resume'
    return start(
      {
        kind: 'ingest',
        eperson,
        parameters: { ...given, upload, ...(resumes === undefined ? {} : { resumes: String(resumes) }) },
        event: eventOf(request.caller, request, { event, outcome: 'success' }),
      },
      run => this.#ingest(run, upload, eperson, job),
    )
  }

  /** Ingests an upload. The upload stays until everything is ingested, so that this can be repeated. */
  async #ingest(
    { signal, log, progress }: Run,
    id: string,
    eperson: string,
    job: Omit<IngestJob, 'path' | 'unpacked'>,
  ): Promise<Report> {
    const { place } = this.#parts
    const upload = await createUploads(place).take(id, eperson)
    if (!upload) throw new ImportError('the upload is not there any more, or something else is made of it')
    let isUsed = false
    let unpacked: string | undefined
    try {
      unpacked = await makeUnpacked(place.local)
      const report = await runInChild<IngestJob>(
        {
          program: 'ingest-process',
          job: { ...job, path: await upload.path(), unpacked },
          name: 'the ingest',
          consequence: '; what was ingested stays, and resuming it goes on',
        },
        { signal, log, progress: (_step, share) => progress(percent(share)) },
      )
      isUsed = !job.dryRun && report.failed === 0
      return report
    } finally {
      // The child process has removed it, unless it was killed.
      if (unpacked !== undefined) await rm(unpacked, { recursive: true, force: true })
      await upload.release(isUsed)
    }
  }

  /** @returns the name of the upload, which must be whole */
  async requireUpload(id: string, eperson: string): Promise<string> {
    const { place } = this.#parts
    const found = await place.find(id)
    if (found?.eperson !== eperson) throw new Problem('not-found', place.absent)
    if (found.offset !== found.size)
      throw new Problem('upload-offset', 'The upload is not complete: send the rest of it first.')
    return found.metadata.filename ?? found.metadata.name ?? ''
  }

  /** Keeps the body as an upload. */
  async #keepBody(request: FastifyRequest, eperson: string): Promise<string> {
    const { place, config } = this.#parts
    const { uploads: limits } = config
    const length = String(request.headers['content-length'] ?? '')
    if (!/^[1-9]\d{0,14}$/.test(length))
      throw new Problem(
        'bad-request',
        'Give an upload (?upload=<id>), or send the archive with its Content-Length.',
      )
    const size = Number(length)
    if (size > limits.size)
      throw new Problem('body-too-large', 'The archive is larger than an upload may be (CARREL_UPLOAD_SIZE).')
    const id = newUploadId()
    const begun = new Date().toISOString()
    const receivedBy = ownProcessId()
    await admitUpload({ place, limits }, id, { eperson, size, metadata: {}, begun, receivedBy })
    try {
      const { signal } = new AbortController()
      const { end } = await receive(request.raw, { place, eperson, id, offset: 0, most: size, signal })
      if (end !== size) throw new Problem('bad-request', 'The archive did not arrive whole.')
      return id
    } catch (error) {
      await place.remove(id)
      throw error
    }
  }
}

/**
 * `POST /api/admin/ingest`: takes a zip, tar or tar.gz of a folder for `carrel ingest`, as a finished upload
 * or as the body. A process ingests it.
 */
export function ingestRoutes(app: FastifyInstance, parts: Parts): { readonly resume: Resume } {
  const { addresses } = parts
  const ingests = new Ingests(parts)
  void app.register(async scope => {
    scope.addContentTypeParser(mediaTypes, (_request, _payload, done) => done(null))
    scope.addHook('onResponse', endSlowBody)
    const preParsing = allowSlowBody
    routesOf(scope).post(
      '/admin/ingest',
      { ...route('ingest', changes('administrator', 'administration', archiveBody)), preParsing },
      async (request, reply) => sendBegun(reply, await ingests.beginAsked(request, reply), addresses),
    )
  })

  return {
    resume: async (process, request) => {
      const { upload, resumes: _, ...given } = process.parameters
      if (upload === undefined)
        throw new Problem('process-state', 'It was begun on the command line: run the command again.')
      // The ingest that it begins belongs to the part `administration` of the API.
      if (!mayUsePart(request.caller, 'administration', 'POST'))
        throw new Problem(
          'access-token-refused',
          'An ingest needs an access token for POST in the part administration of the API, too.',
        )
      const { uuid } = requireAdministrator(request.caller).session.eperson
      const sent = await ingests.requireUpload(upload, uuid)
      return ingests.begin(request, upload, sent, given, process.id)
    },
  }
}

/** Makes a part of identifiers from the name of an archive, without its extension. */
function nameOf(text = ''): string {
  const name = text.replace(/(\.zip|\.tar|\.tar\.gz|\.tgz)$/i, '').replaceAll(/[^\p{L}\p{N}._-]/gu, '-')
  return name.slice(0, 100).toWellFormed() || 'upload'
}

function flag(name: string, text: string | undefined): boolean {
  if (text === undefined || text === 'false') return false
  if (text === 'true' || text === '') return true
  throw badParameter(name, text, `The parameter ${name} must be true or false.`)
}

/** @returns null if the archive has the rules */
function readersOf({ read, from, until }: Given, groups: ReadonlySet<string>): Readers | null {
  if (read === undefined) {
    const other = from === undefined ? 'until' : 'from'
    if (from !== undefined || until !== undefined)
      throw badParameter(
        other,
        from ?? until ?? '',
        `The parameter ${other} needs read, such as read=anonymous.`,
      )
    return null
  }
  const days = [from && `from:${from}`, until && `until:${until}`].filter(day => day)
  try {
    return parseReaders([[read, ...days].join(' ')], groups)
  } catch (error) {
    if (error instanceof BadItem) throw badParameter('read', read, `The parameter read: ${error.message}.`)
    throw error
  }
}
