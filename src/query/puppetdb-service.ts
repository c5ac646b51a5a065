import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { reads } from '../http/access.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { msNow } from '../lib/ms-now.ts'
import { version } from '../lib/version.ts'
import { viewerOf } from '../model/caller.ts'
import { rowsIn } from '../model/record-format.ts'
import type { Storage } from '../storage/statements/parts.ts'
import { nodeOf } from './language/node.ts'
import { parseAsked } from './parse.ts'
import { planOf } from './plan.ts'
import { mayReadEntity } from './readable.ts'

const route = contractsIn(() => import('./puppetdb-contracts.ts'))
const queried = contractsIn(() => import('./contracts.ts'))

const anybody = reads('anybody', 'any')

/**
 * The version of PuppetDB whose queries this service answers. Clients refuse to work with versions that are too old.
 */
const spoken = '7.12.1'

/** Registers what PuppetDB's clients request before they query (Q24). */
export function puppetDbServiceRoutes(
  app: FastifyInstance,
  {
    entities,
    ping,
    config,
  }: Pick<Storage, 'entities' | 'ping'> & { readonly config: Pick<Config, 'queryBase'> },
): void {
  metaRoutes(app, config)
  statusRoutes(app, ping)
  numberRoutes(app, entities)
}

function metaRoutes(app: FastifyInstance, config: Pick<Config, 'queryBase'>): void {
  const meta = `${config.queryBase.replace(/\/query\/v4$/, '')}/meta/v1`
  routesOf(app).get(`${meta}/version`, queried('showQueryVersion', anybody), async () => ({
    version: spoken,
    product: 'carrel',
    product_version: version,
  }))
  // PuppetDB asks its maker for a newer version; Carrel makes no such request (E5).
  routesOf(app).get(`${meta}/version/latest`, queried('showLatestQueryVersion', anybody), async () => ({
    newer: false,
    version: spoken,
    product: 'carrel',
  }))
  routesOf(app).get(`${meta}/server-time`, queried('showServerTime', anybody), async () => ({
    server_time: new Date(msNow()).toISOString(),
  }))
}

function statusRoutes(app: FastifyInstance, ping: Storage['ping']): void {
  const statusOf = async () => {
    const isUp = await Promise.resolve()
      .then(ping)
      .then(
        () => true,
        () => false,
      )
    return {
      service_version: spoken,
      service_status_version: 1,
      detail_level: 'info',
      state: isUp ? 'running' : 'error',
      status: { 'maintenance_mode?': false, queue_depth: 0, 'read_db_up?': isUp, 'write_db_up?': isUp },
      active_alerts: [],
    }
  }
  routesOf(app).get('/status/v1/services', route('listServices', anybody), async () => ({
    'puppetdb-status': await statusOf(),
  }))
  routesOf(app).get('/status/v1/services/puppetdb-status', route('showService', anybody), statusOf)
  for (const [path, name] of [
    ['simple', 'showSimpleStatus'],
    ['simple/puppetdb-status', 'showSimpleStatusOfService'],
  ] as const)
    routesOf(app).get(`/status/v1/${path}`, route('showSimpleStatus', anybody, name), async (_, reply) => {
      const { state } = await statusOf()
      return reply
        .code(state === 'running' ? 200 : 503)
        .type('text/plain; charset=utf-8')
        .send(state)
    })
}

function numberRoutes(app: FastifyInstance, entities: Storage['entities']): void {
  /** Counts the records of an entity; undefined if the caller may not list them. */
  async function count(request: FastifyRequest, name: string): Promise<number | undefined> {
    const all = await entities.all()
    const entity = all.get(name)
    const mayRead = (one: Parameters<typeof mayReadEntity>[1]) => mayReadEntity(request.caller, one)
    if (!entity || !mayRead(entity)) return undefined
    const known = { entities: all, entity, mayRead }
    const plan = planOf(everything, known, { columns: nodeOf([['function', 'count']]), clauses: [] })
    const { body } = await entities.list(plan, viewerOf(request.caller), 'json', clientOf(request))
    const [row] = await rowsIn<{ readonly count: number }>(body)
    return row?.count
  }

  const beans: Readonly<Record<string, (request: FastifyRequest) => Promise<number | undefined>>> = {
    'num-nodes': request => count(request, 'nodes'),
    'num-resources': request => count(request, 'resources'),
    'avg-resources-per-node': async request => {
      const [nodes, resources] = [await count(request, 'nodes'), await count(request, 'resources')]
      return nodes === undefined || resources === undefined ? undefined : nodes === 0 ? 0 : resources / nodes
    },
  }
  const domain = 'puppetlabs.puppetdb.population'

  // This is Jolokia's protocol (https://jolokia.org/reference/html/manual/jolokia_protocol.html), as far as
  // clients read it.
  const response = (request: object, value: unknown) => ({
    request,
    value,
    timestamp: Math.floor(Date.now() / 1000),
    status: 200,
  })
  routesOf(app).get('/metrics/v2', route('showJolokia', anybody), async () =>
    response(
      { type: 'version' },
      { agent: version, protocol: '7.2', info: { product: 'carrel', version: spoken } },
    ),
  )
  routesOf(app).get('/metrics/v2/list', route('listNumbers', anybody), async () =>
    response(
      { type: 'list' },
      {
        [domain]: Object.fromEntries(
          Object.keys(beans).map(name => [`name=${name}`, { attr: { Value: { rw: false } } }]),
        ),
      },
    ),
  )
  const { access, contract } = route('showNumber', anybody).config
  routesOf(app).get<{ Params: { '*': string } }>(
    '/metrics/v2/read/*',
    { config: { access, contracts: { ':name': contract } } },
    async (request, reply) => {
      const [mbean = ''] = request.params['*'].split('/')
      const [, name = ''] = /^puppetlabs\.puppetdb\.population:name=([a-z-]+)$/.exec(mbean) ?? []
      const value = Object.hasOwn(beans, name) ? await beans[name]?.(request) : undefined
      if (value !== undefined) return response({ mbean, type: 'read' }, { Value: value })
      // Jolokia tells errors in the body.
      return reply.send({
        request: { mbean, type: 'read' },
        error_type: 'javax.management.InstanceNotFoundException',
        error: `There is no such value: ${Object.keys(beans)
          .map(one => `${domain}:name=${one}`)
          .join(', ')} are.`,
        status: 404,
      })
    },
  )
}

const everything = parseAsked({ values: new Map(), text: '', malformed: null })
