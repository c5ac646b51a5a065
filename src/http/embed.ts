import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify'
import { isObject } from '../lib/json.ts'
import type { Access } from './access.ts'
import { signalOf } from './connection.ts'
import { hasOwnHooks, mayCall } from './guard.ts'
import { badParameter, parseQuery, type Query, wholeNumber } from './parameters.ts'
import { Problem } from './problems.ts'

/**
 * Embeds linked resources in an answer: `?embed=bundles&embed=thumbnail/format` (docs/decisions/0062). An
 * embedded resource is the answer of its own address to the same caller, so embedding reveals nothing else. A
 * resource that its address refuses is left out, and one that is answered with 204 is null.
 */

/** Maximum number of addresses asked for one answer, and of embedded characters of JSON; the rest is left out. */
const maxAsked = 500
const maxText = 4 * 1024 * 1024
/** Number of addresses after which other requests get a turn. */
const turn = 20

interface Parts {
  /** The address of `/api`. */
  readonly api: string
}

interface Target {
  readonly access: Access
  readonly segments: readonly string[]
  readonly handler: RouteHandlerMethod
}

type Body = Readonly<Record<string, unknown>>
/** An embedded resource; undefined if there is nothing to embed. */
type Found = { readonly body: Body | null; readonly length: number } | undefined

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True if the route answers to `?embed=`. */
    embeds?: boolean
    /** True if the answer is not JSON, so that no resource embeds it. */
    isText?: boolean
  }
}

/** Lets the routes of a scope embed each other's answers. The scope must have no routes yet. */
export function answerEmbeds(scope: FastifyInstance, { api }: Parts): void {
  /** Targets by their number of segments. */
  const targets = new Map<number, Target[]>()

  function collect(this: FastifyInstance, route: RouteOptions): void {
    const { method, url, handler, config } = route
    // A route with checks of its own before its handler can be asked only from outside: embedding looks at the
    // access and calls the handler.
    if (method !== 'GET' || this !== scope || !config?.access || config.isText || hasOwnHooks(route)) return
    route.config = { ...config, embeds: true }
    const segments = url.split('/')
    const alike = targets.get(segments.length) ?? []
    alike.push({ access: config.access, segments, handler: handler as RouteHandlerMethod })
    targets.set(segments.length, alike)
  }

  /** Finds the route of an address as the router does: a literal segment takes precedence over a parameter. */
  function targetOf(path: string): readonly [Target, Readonly<Record<string, string>>] | undefined {
    const given = path.split('/')
    const fitting = (targets.get(given.length) ?? []).filter(({ segments }) =>
      segments.every((segment, at) => segment === given[at] || (segment.startsWith(':') && given[at] !== '')),
    )
    const [target] = fitting.toSorted((one, other) => parametersIn(one) - parametersIn(other))
    if (!target) return undefined
    const named = target.segments.flatMap((segment, at) =>
      segment.startsWith(':') ? [[segment.slice(1), decoded(given[at] ?? '')] as const] : [],
    )
    return [target, Object.fromEntries(named)]
  }

  async function ask(request: FastifyRequest, address: string): Promise<Body | null | undefined> {
    if (!address.startsWith(`${api}/`)) return undefined
    const [path = '', query = ''] = address.slice(api.length).split('?')
    const [target, params] = targetOf(`/api${path}`) ?? []
    if (!target || !mayCall(request.caller, target.access)) return undefined
    const asking = Object.assign(Object.create(request) as FastifyRequest, {
      params,
      query: parseQuery(query),
    })
    const answer = new Answer()
    const returned: unknown = await target.handler.call(
      request.server,
      asking,
      answer as unknown as FastifyReply,
    )
    if (answer.location !== undefined) return ask(request, answer.location)
    if (answer.status === 204) return null
    const body = returned === answer ? answer.body : returned
    return isBody(body) ? body : undefined
  }

  const wanted = new WeakMap<FastifyRequest, Wanted>()
  scope.addHook('onRoute', collect)
  scope.addHook('preHandler', (request, _reply, done) => {
    const query = request.query as Query
    if (query.values.has('embed')) wanted.set(request, readEmbeds(query))
    done()
  })
  scope.addHook('preSerialization', (request, reply, payload, done) => {
    const names = wanted.get(request)
    if (!names || reply.statusCode !== 200 || !isBody(payload)) done(null, payload)
    else
      new Embedding(request, address => ask(request, address))
        .into(payload, names)
        .then(body => done(null, body), done)
  })
}

/** The embedding of one answer, with the rest of its bounds. */
class Embedding {
  readonly #request: FastifyRequest
  readonly #ask: (address: string) => Promise<Body | null | undefined>
  /** Answers by address: resources link to each other, and often to the same one. */
  readonly #known = new Map<string, Found>()
  #text = maxText

  constructor(request: FastifyRequest, ask: (address: string) => Promise<Body | null | undefined>) {
    this.#request = request
    this.#ask = ask
  }

  /**
   * @returns a copy of a resource, or of a list's elements, with the wanted resources; bodies are shared, so
   *   none is changed
   */
  async into(body: Body, wanted: Wanted): Promise<Body> {
    if (wanted.size === 0) return body
    const links = isBody(body._links) ? body._links : {}
    // Links are followed only from a resource, not from a list or an entry point.
    const isResource = body.id != null || body.uuid != null || body.processId != null
    const embedded: Record<string, unknown> = isBody(body._embedded) ? { ...body._embedded } : {}
    // In a page or a search hit, the embedded resources themselves are extended.
    for (const [name, value] of Object.entries(embedded))
      if (!(name in links) || name === 'indexableObject') embedded[name] = await this.#each(value, wanted)
    for (const [name, { below, size }] of isResource ? wanted : []) {
      const link = name === 'self' ? undefined : links[name]
      if (!isBody(link) || typeof link.href !== 'string') continue
      const value =
        embedded[name] === undefined
          ? await this.#take(size === undefined ? link.href : withSize(link.href, size))
          : embedded[name]
      if (value !== undefined) embedded[name] = await this.#each(value, below)
    }
    return Object.keys(embedded).length === 0 ? body : { ...body, _embedded: embedded }
  }

  async #each(value: unknown, wanted: Wanted): Promise<unknown> {
    if (!Array.isArray(value)) return isBody(value) ? this.into(value, wanted) : value
    const all: unknown[] = []
    for (const one of value as readonly unknown[]) all.push(isBody(one) ? await this.into(one, wanted) : one)
    return all
  }

  async #take(address: string): Promise<Body | null | undefined> {
    const found = await this.#find(address)
    if (!found || found.length > this.#text) return undefined
    this.#text -= found.length
    return found.body
  }

  async #find(address: string): Promise<Found> {
    if (this.#known.has(address)) return this.#known.get(address)
    // A client that has disconnected needs no more.
    if (this.#known.size >= maxAsked || this.#text <= 0 || signalOf(this.#request).aborted) return undefined
    if (this.#known.size % turn === turn - 1) await setImmediate()
    const body = await this.#ask(address).catch(refused)
    const found = body === undefined ? undefined : { body, length: JSON.stringify(body).length }
    this.#known.set(address, found)
    return found
  }
}

/** Turns a client error of an embedded address into an absent resource. @throws any other error */
function refused(error: unknown): undefined {
  if (error instanceof Problem && error.status < 500) return undefined
  throw error
}

/** Stands in for a reply while a handler runs without a client. */
class Answer {
  status = 200
  body: unknown
  location: string | undefined

  code(status: number): this {
    this.status = status
    return this
  }
  header(): this {
    return this
  }
  redirect(location: string): this {
    this.location = location
    return this
  }
  send(body?: unknown): this {
    this.body = body
    return this
  }
}

const withSize = (address: string, size: number) =>
  `${address}${address.includes('?') ? '&' : '?'}size=${size}`

const parametersIn = ({ segments }: Target) => segments.filter(segment => segment.startsWith(':')).length

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

const isBody = (value: unknown): value is Body => isObject(value) && !(value instanceof Uint8Array)

/** Maximum number of names in all paths of a request, and of links from the first resource to the last one embedded. */
const maxNames = 50
const maxDepth = 5
/** Maximum number of elements of an embedded list. */
const maxSize = 100
/** The links of a resource to embed, by name. */
type Wanted = Map<string, { readonly below: Wanted; size?: number }>

/** Reads the parameters `embed` and `embed.size`. @throws Problem 400 */
function readEmbeds({ values }: Query): Wanted {
  const wanted: Wanted = new Map()
  let names = 0
  for (const path of (values.get('embed') ?? []).flatMap(one => one.split(','))) {
    let at = wanted
    for (const name of namesIn(path)) {
      const known = at.get(name) ?? { below: new Map() }
      if (!at.has(name)) {
        at.set(name, known)
        names += 1
      }
      if (names > maxNames)
        throw badParameter('embed', path, `The parameters embed name more than ${maxNames} links.`)
      at = known.below
    }
  }
  for (const given of values.get('embed.size') ?? []) {
    const [path = '', size = ''] = given.split('=')
    const length = Math.min(wholeNumber('embed.size', size, 1), maxSize)
    let at: Wanted | undefined = wanted
    const steps = namesIn(path)
    for (const name of steps.slice(0, -1)) at = at?.get(name)?.below
    const last = at?.get(steps.at(-1) ?? '')
    if (last) last.size = length
  }
  return wanted
}

const namesIn = (path: string): readonly string[] => path.split('/', maxDepth).filter(name => name !== '')
