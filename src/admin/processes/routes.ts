import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { LookAgain } from '../../authn/look-again.ts'
import { changes, reads, rightTo } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { signalOf, turnOf } from '../../http/connection.ts'
import { contractsIn, type Routes, routesOf } from '../../http/contract.ts'
import { halPage, halPart, readPage, windowOf } from '../../http/hal.ts'
import { badParameter, type Query, quote, single } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { requireCaller } from '../../http/require-caller.ts'
import { sendPieces } from '../../http/send-pieces.ts'
import { readUuid } from '../../lib/uuids.ts'
import { isAdministrator } from '../../model/caller.ts'
import { type Process, type ProcessKind, type ProcessState, processKinds } from '../../model/processes.ts'
import {
  logText,
  outputBody,
  processAddress,
  processBody,
  sendBegun,
  statesOf,
  statusNames,
} from './bodies.ts'
import { createListeners } from './events.ts'
import { maxLines, type Processes, type ProcessSearch } from './statements.ts'

const route = contractsIn(() => import('./contracts.ts'))
const toAdministrators = reads('administrator', 'processes')
const whose = rightTo('see the process: their own, or any for administrators')
const toOwners = reads(whose, 'processes')
const byOwners = changes(whose, 'processes', 'ignored')

/** Begins a process again that didn't finish. @throws Problem if that isn't possible */
export type Resume = (process: Process, request: FastifyRequest) => Promise<Process>

interface Parts {
  readonly addresses: Addresses
  readonly lookAgain: LookAgain
  readonly processes: Processes
  readonly resume: Readonly<Partial<Record<ProcessKind, Resume>>>
}

const isUnderWay = (state: ProcessState) => state === 'running' || state === 'scheduled'
/** Time in ms after which a client that accepts no events is disconnected. */
const idle = 60_000

type Route = { Params: { id: string } }
const path = '/system/processes'
const one = `${path}/:id`

/** `/api/system/processes`: administrators see all processes, epersons those that they began. */
export function processRoutes(app: FastifyInstance, parts: Parts): void {
  const routes = routesOf(app)
  const readable = readableIn(parts.processes)
  listRoutes(routes, parts)
  showRoutes(routes, parts, readable)
  textRoutes(app, parts, readable)
  changeRoutes(routes, parts, readable)
}

/**
 * Makes the function that finds a process that the caller may read. It throws Problem 401, 403 or 404; only
 * administrators learn which processes exist.
 */
const readableIn =
  (processes: Processes) =>
  async ({ caller, params }: FastifyRequest): Promise<Process> => {
    const { session } = requireCaller(caller)
    const { id } = params as Route['Params']
    const process = /^\d{1,15}$/.test(id) ? await processes.one(Number(id)) : undefined
    if (process && (isAdministrator(caller) || process.eperson === session.eperson.uuid)) return process
    if (isAdministrator(caller)) throw gone()
    throw new Problem(
      'access-denied',
      'Epersons may see only the processes that they began. Administrators may see any.',
    )
  }

type Readable = ReturnType<typeof readableIn>

function listRoutes(routes: Routes, { addresses, processes }: Parts): void {
  const all = `${addresses.api}${path}`
  async function page(request: FastifyRequest, search: ProcessSearch, self: string) {
    const asked = readPage(request.query as Query, 100)
    const { rows, total } = await processes.find(search, windowOf(asked))
    const bodies = rows.map(row => processBody(row, addresses))
    return halPart('processes', bodies, total, asked, self)
  }

  routes.get(path, route('listProcesses', toAdministrators), async request => {
    const query = request.query as Query
    return page(request, { order: orderOf(query) }, all)
  })
  routes.get(`${path}/search/byProperty`, route('searchProcesses', toAdministrators), async request => {
    const query = request.query as Query
    return page(request, searchOf(query), `${all}/search/byProperty`)
  })
  routes.get(
    `${path}/search/own`,
    route('listOwnProcesses', reads('eperson', 'processes')),
    async request => {
      const eperson = requireCaller(request.caller).session.eperson.uuid
      const query = request.query as Query
      return page(request, { eperson, order: orderOf(query) }, `${all}/search/own`)
    },
  )
}

const logOf = async (processes: Processes, process: Process) =>
  logText(process, await processes.lines(process.id, 0, maxLines))

function showRoutes(routes: Routes, { addresses, processes }: Parts, readable: Readable): void {
  routes.get<Route>(one, route('showProcess', toOwners), async request =>
    processBody(await readable(request), addresses),
  )
  routes.get<Route>(`${one}/output`, route('showOutput', toOwners), async (request, reply) => {
    const process = await readable(request)
    const text = await logOf(processes, process)
    return text === '' ? reply.code(204).send() : outputBody(process, text, addresses)
  })
  routes.get<Route>(`${one}/files`, route('listFilesOfProcess', toOwners), async request => {
    const { id } = await readable(request)
    return halPage(
      'bitstreams',
      [],
      readPage(request.query as Query),
      `${processAddress(addresses, id)}/files`,
    )
  })
  routes.get<Route>(`${one}/filetypes`, route('listFileTypesOfProcess', toOwners), async request => {
    const { id } = await readable(request)
    const href = `${processAddress(addresses, id)}/filetypes`
    return { id: 'filetypes', values: [], type: 'filetypes', _links: { self: { href } } }
  })
}

/** The log of a process as text, and its events as they happen. */
function textRoutes(app: FastifyInstance, { lookAgain, processes }: Parts, readable: Readable): void {
  const routes = routesOf(app)
  const listeners = createListeners(processes)
  app.addHook('preClose', async () => listeners.close())
  const ofText = (name: 'showLog' | 'followProcess') => ({
    config: { ...route(name, toOwners).config, isText: true },
  })
  routes.get<Route>(`${one}/log`, ofText('showLog'), async (request, reply) => {
    const text = await logOf(processes, await readable(request))
    return reply.type('text/plain; charset=utf-8').send(text)
  })
  routes.get<Route>(
    `${one}/events`,
    { ...ofText('followProcess'), exposeHeadRoute: false },
    async (request, reply) => {
      const process = await readable(request)
      const mayGoOn = () => lookAgain.isStill(request)
      await turnOf(reply)
      const pieces = listeners.events(process, lastLine(request), mayGoOn, signalOf(request))
      reply.header('content-type', 'text/event-stream').header('x-accel-buffering', 'no')
      if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
      return sendPieces(reply, { before: 'retry: 3000\n\n', between: '', after: '', pieces }, { idle })
    },
  )
}

function changeRoutes(routes: Routes, { addresses, processes, resume }: Parts, readable: Readable): void {
  routes.post<Route>(`${one}/cancel`, route('cancelProcess', byOwners), async (request, reply) => {
    const { id } = await readable(request)
    const event = eventOf(request.caller, request, { event: 'process.cancel', outcome: 'success' })
    const state = await processes.cancel(id, event)
    if (state === undefined) throw gone()
    if (!isUnderWay(state))
      throw new Problem('process-state', `The process has ended already: it is ${state}.`)
    return reply.code(202).send(processBody(await oneOf(processes, id), addresses))
  })
  routes.post<Route>(`${one}/resume`, route('resumeProcess', byOwners), async (request, reply) => {
    const process = await readable(request)
    const { kind, state } = process
    if (isUnderWay(state) || state === 'completed')
      throw new Problem(
        'process-state',
        `Only a process that did not come to its end can be resumed; this one is ${state}.`,
      )
    const begin = resume[kind]
    if (!begin)
      throw new Problem('process-state', `A process of the kind ${kind} can’t be resumed. Begin it again.`)
    return sendBegun(reply, await begin(process, request), addresses)
  })
  routes.delete<Route>(one, route('deleteProcess', byOwners), async (request, reply) => {
    const { id } = await readable(request)
    const event = eventOf(request.caller, request, { event: 'process.delete', outcome: 'success' })
    const state = await processes.remove(id, event)
    if (state === undefined) throw gone()
    if (isUnderWay(state))
      throw new Problem('process-state', 'The process has not ended. Cancel it first (POST …/cancel).')
    return reply.code(204).send()
  })
}

const gone = () => new Problem('not-found', 'There is no process with this number.')

async function oneOf(processes: Processes, id: number): Promise<Process> {
  const process = await processes.one(id)
  if (!process) throw gone()
  return process
}

/** Reads the number of the last line, which `EventSource` sends when it reconnects. */
function lastLine({ headers }: FastifyRequest): number {
  const id = String(headers['last-event-id'] ?? '')
  // No line has a greater number.
  return /^\d{1,15}$/.test(id) ? Math.min(Number(id), maxLines) : 0
}

function searchOf(query: Query): ProcessSearch {
  const status = single(query, 'processStatus')
  const states = status === undefined ? undefined : statesOf(status)
  if (status !== undefined && states === undefined)
    throw badParameter('processStatus', status, `There is no status ${quote(status)}.`, {
      legal: statusNames,
    })
  const user = single(query, 'userId')
  const eperson = user === undefined ? undefined : readUuid(user)
  if (user !== undefined && eperson === undefined)
    throw badParameter('userId', user, 'The parameter userId must be the UUID of an eperson.')
  const script = single(query, 'scriptName')
  const kind = processKinds.find(name => name === script)
  if (script !== undefined && kind === undefined)
    throw badParameter('scriptName', script, `There is no script ${quote(script)}.`, { legal: processKinds })
  return {
    ...(states && { states }),
    ...(eperson && { eperson }),
    ...(kind && { kind }),
    order: orderOf(query),
  }
}

const columns = new Map<string, ProcessSearch['order']['by']>([
  ['processId', 'id'],
  ['creationTime', 'id'],
  ['startTime', 'begun'],
  ['endTime', 'ended'],
])

/**
 * Reads the order; the newest come first by default. Clients send `sort` everywhere, so an unknown value is no error.
 */
function orderOf(query: Query): ProcessSearch['order'] {
  const [name = '', way = ''] = (single(query, 'sort') ?? '').split(',')
  const by = columns.get(name.trim())
  return by === undefined ? { by: 'id', falling: true } : { by, falling: way.trim().toLowerCase() !== 'asc' }
}
