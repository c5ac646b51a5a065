import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Body, changes, openRightTo, reads, smallBody } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { halPage, readPage } from '../../http/hal.ts'
import { type Query, quote } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { requireAdministrator } from '../../http/require-caller.ts'
import type { ApiPart, ScopeMethod } from '../../model/access-tokens.ts'
import { type AuditEvent, detached } from '../../model/audit-events.ts'
import { type Caller, mayUsePart } from '../../model/caller.ts'
import type { Process, ProcessKind, StartProcess } from '../../model/processes.ts'
import { sendBegun } from './bodies.ts'
import type { Resume } from './routes.ts'
import type { Work } from './verify-and-back-up.ts'

const route = contractsIn(() => import('./contracts.ts'))

/** A kind of process that administrators begin by its name. */
export interface Script {
  readonly name: ProcessKind
  readonly description: string
  readonly parameters: readonly ScriptParameter[]
  /**
   * An additional right that an access token needs: the action of the script has an address in another part of the API.
   */
  readonly reaches?: { readonly part: ApiPart; readonly method: ScopeMethod }
  /** @param event makes the event that is recorded when the script has done something @throws Problem 422 */
  work(given: ReadonlyMap<string, string>, event: (name: AuditEvent['event']) => AuditEvent): Work
}

interface ScriptParameter {
  readonly name: string
  readonly nameLong: string
  readonly description: string
  readonly type: 'integer' | 'string' | 'boolean'
}

interface Parts {
  readonly addresses: Addresses
  readonly start: StartProcess
  readonly scripts: readonly Script[]
}

/** Maximum size of the body in bytes: a form has one field, `properties`, and is small. */
const bodyLimit = smallBody
const scriptBody: Body = {
  types: ['multipart/form-data', 'application/x-www-form-urlencoded'],
  limit: bodyLimit,
  optional: true,
}
const maxParameters = 20

/** `/api/system/scripts`, where DSpace's interface begins processes (script-data.service.ts). */
export function scriptRoutes(
  app: FastifyInstance,
  { addresses, start, scripts }: Parts,
): {
  readonly resume: Readonly<Partial<Record<ProcessKind, Resume>>>
} {
  type Route = { Params: { name: string } }
  const path = '/system/scripts'
  const all = `${addresses.api}${path}`

  const find = (name: string): Script => {
    const found = scripts.find(script => script.name === name)
    if (!found) throw new Problem('not-found', `There is no script of this name that can be started here.`)
    return found
  }
  const bodyOf = ({ name, description, parameters }: Script) => ({
    id: name,
    name,
    description,
    parameters: parameters.map(one => ({ ...one, mandatory: false })),
    type: 'script',
    _links: { self: { href: `${all}/${name}` } },
  })

  async function begin(
    script: Script,
    given: ReadonlyMap<string, string>,
    request: FastifyRequest,
    more: Process['parameters'] = {},
  ): Promise<Process> {
    const { session } = requireAdministrator(request.caller)
    requireReach(request.caller, script)
    const event = (name: AuditEvent['event']) =>
      eventOf(request.caller, request, { event: name, outcome: 'success' })
    const isResumed = 'resumes' in more
    return start(
      {
        kind: script.name,
        eperson: session.eperson.uuid,
        parameters: { ...Object.fromEntries(given), ...more },
        event: event(isResumed ? 'process.resume' : 'process.start'),
      },
      script.work(given, name => detached(event(name))),
    )
  }

  routesOf(app).get(path, route('listScripts', reads('administrator', 'processes')), async request => {
    return halPage('scripts', scripts.map(bodyOf), readPage(request.query as Query), all)
  })
  // The script is looked up before the caller: DSpace's interface asks for some scripts before a login, and
  // takes a 401 for the end of a session.
  routesOf(app).get<Route>(
    `${path}/:name`,
    route(
      'showScript',
      reads(
        openRightTo('administer the service; a script that isn’t there is 404 for everybody'),
        'processes',
      ),
    ),
    async ({ caller, params }) => {
      const script = find(params.name)
      requireAdministrator(caller)
      return bodyOf(script)
    },
  )
  void app.register(async scope => {
    scope.addContentTypeParser(
      'multipart/form-data',
      { parseAs: 'buffer', bodyLimit },
      (_request, body, done) => done(null, body),
    )
    routesOf(scope).post<Route>(
      `${path}/:name/processes`,
      route('beginScript', changes('administrator', 'processes', scriptBody)),
      async (request, reply) => {
        const script = find(request.params.name)
        const process = await begin(script, await readParameters(request, script), request)
        return sendBegun(reply, process, addresses)
      },
    )
  })

  const resumeOf =
    (script: Script): Resume =>
    (process, request) => {
      const known = new Set(script.parameters.map(({ name }) => name))
      const given = new Map(Object.entries(process.parameters).filter(([name]) => known.has(name)))
      return begin(script, given, request, { resumes: String(process.id) })
    }
  return { resume: Object.fromEntries(scripts.map(script => [script.name, resumeOf(script)])) }
}

/** @throws Problem 403 for an access token that may not do the script's action at its own address */
function requireReach(caller: Caller, { name, reaches }: Script): void {
  if (!reaches || mayUsePart(caller, reaches.part, reaches.method)) return
  throw new Problem(
    'access-token-refused',
    `The script ${name} needs an access token for ${reaches.method} in the part ${reaches.part} of the API, too.`,
  )
}

/** @returns the values of the form, by the short name of each parameter */
async function readParameters(
  request: FastifyRequest,
  { name, parameters }: Script,
): Promise<Map<string, string>> {
  const given = new Map<string, string>()
  const body = request.body as Buffer | undefined
  if (!body || body.length === 0) return given
  for (const one of await readProperties(request.headers['content-type'] ?? '', body)) {
    // DSpace also accepts the long name with one hyphen, and its interface uses that spelling once.
    const known = parameters.find(({ name: short, nameLong }) =>
      [short, nameLong, nameLong.slice(1)].includes(one.name),
    )
    if (!known) throw new Problem('bad-request', `The script ${name} has no parameter ${quote(one.name)}.`)
    if (given.has(known.name)) throw new Problem('bad-request', `The parameter ${known.name} is given twice.`)
    given.set(known.name, one.value ?? '')
  }
  return given
}

async function readProperties(
  type: string,
  body: Buffer,
): Promise<readonly { readonly name: string; readonly value?: string | null }[]> {
  const wrong = new Problem(
    'bad-request',
    'The body must be a form with the field properties: a JSON array of objects with name and value, both strings.',
  )
  let list: unknown
  try {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
    const fields = [...form.keys()]
    const properties = form.get('properties')
    if (fields.length !== 1 || typeof properties !== 'string') throw wrong
    list = JSON.parse(properties)
  } catch {
    throw wrong
  }
  if (!Array.isArray(list) || list.length > maxParameters || !list.every(isParameter)) throw wrong
  return list
}

function isParameter(value: unknown): value is { name: string; value?: string | null } {
  if (typeof value !== 'object' || value === null) return false
  const { name, value: given } = value as Record<string, unknown>
  return typeof name === 'string' && (given === undefined || given === null || typeof given === 'string')
}
