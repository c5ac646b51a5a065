import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { siteUuid } from '../../src/items/sites.ts'
import { bearerOf, type Client } from '../support/clients/client.ts'
import { claimsOf } from '../support/clients/jwt.ts'
import {
  anyCount,
  anyShape,
  fillNames,
  type Recorded,
  type RecordedWalk,
  shapeOf,
} from '../support/clients/recorded.ts'
import { addInterfaceWorld, worldSettings } from '../support/data/interface-world.ts'
import { test } from '../support/service/engines.ts'
import { type Service, startService } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/**
 * The requests of DSpace's interface in the walk of test/products/dspace-interface.test.ts, recorded in
 * Chromium. Each request must get its recorded status, and the members and links that the interface reads.
 */
const lines = readFileSync(
  new URL('../support/data/dspace-interface-requests.ndjson', import.meta.url),
  'utf8',
)

const walks: RecordedWalk[] = []
for (const line of lines.trim().split('\n')) {
  const read = JSON.parse(line) as Recorded | Pick<RecordedWalk, 'walk'>
  if ('walk' in read) walks.push({ walk: read.walk, requests: [] })
  else walks.at(-1)?.requests.push(read)
}

/** Members and links that the interface's models read, by type (src/app/core/shared/*.model.ts). */
const needed: Readonly<Record<string, { readonly members: string; readonly links: string }>> = {
  bitstream: {
    members: 'uuid name metadata sizeBytes bundleName',
    links: 'bundle content format thumbnail accessStatus',
  },
  bitstreamformat: { members: 'id shortDescription mimetype supportLevel internal extensions', links: '' },
  bundle: { members: 'uuid name metadata', links: 'bitstreams item primaryBitstream' },
  eperson: {
    members: 'uuid name email metadata canLogIn requireCertificate',
    links: 'groups',
  },
  group: { members: 'uuid name permanent metadata', links: 'epersons subgroups object' },
  item: {
    members: 'uuid name handle metadata lastModified inArchive discoverable withdrawn',
    links:
      'accessStatus bundles identifiers mappedCollections owningCollection relationships thumbnail version',
  },
  metadatafield: { members: 'id element qualifier scopeNote', links: 'schema' },
  metadataschema: { members: 'id prefix namespace', links: '' },
  process: {
    members: 'processId userId startTime endTime scriptName processStatus parameters',
    links: 'script output files filetypes',
  },
  resourcePolicy: {
    members: 'id name description policyType action startDate endDate',
    links: 'eperson group resource',
  },
  script: { members: 'id name description parameters', links: '' },
  systemwidealert: { members: 'alertId message allowSessions countdownTo active', links: '' },
  status: { members: 'okay authenticated', links: 'specialGroups' },
}

type Body = Readonly<Record<string, unknown>> & {
  readonly type?: string
  readonly page?: object
  readonly _links?: Readonly<Record<string, { readonly href: string }>>
  readonly _embedded?: Readonly<Record<string, unknown>>
}

/**
 * Yields the members and links that the interface would read and that an object, or an object of a list,
 * lacks.
 */
function* missingIn(body: Body, base: string): Generator<string> {
  // The output of a process is a bitstream without a bundle.
  const isOutput = body.type === 'bitstream' && body.bundleName === null
  const { members = '', links = '' } = (isOutput ? undefined : needed[body.type ?? '']) ?? {}
  for (const name of members.split(' ')) if (name !== '' && !(name in body)) yield `${body.type}.${name}`
  for (const name of links.split(' '))
    if (name !== '' && !body._links?.[name]) yield `${body.type}._links.${name}`
  for (const [name, { href }] of Object.entries(body._links ?? {}))
    if (!href.startsWith(base)) yield `${name} leads to ${href}`
  for (const list of Object.values(body._embedded ?? {}))
    if (Array.isArray(list)) {
      if (!body.page && body.type === undefined) yield 'page'
      for (const one of list) yield* missingIn(one as Body, base)
    }
}

/**
 * Returns the warning that the interface would show (ensureSelfLink in
 * dspace-rest-response-parsing.service.ts). It splits both addresses into their parameters, and ignores those
 * that begin with `embed`.
 */
function selfFault(body: Body, path: string, base: string): string | undefined {
  const self = body._links?.self?.href
  const partsOf = (address: string) =>
    address
      .split(/[?&]/)
      .filter(part => part !== '' && !/^(embed|embed\.size|authentication-token)=/.test(part))
  const [expected, actual] = [partsOf(`${base}${path}`), partsOf(self ?? '')]
  if (self === undefined || expected[0] !== actual[0]) return undefined
  const differs = expected.some(one => !actual.includes(one)) || actual.some(one => !expected.includes(one))
  return differs ? `${self} is not ${path}` : undefined
}

class Replay {
  readonly #service: Service
  readonly #client: Client
  readonly #values: Map<string, string>

  constructor(service: Service, uuids: ReadonlyMap<string, string>) {
    const { baseUrl } = service.config
    this.#service = service
    this.#client = service.client()
    this.#values = new Map([...uuids, ['site', siteUuid(baseUrl)]])
    const addresses = { base: baseUrl, 'base%': encodeURIComponent(baseUrl), ui: 'https://ui.example.net' }
    for (const [name, address] of Object.entries(addresses)) this.#values.set(name, address)
  }

  async ask([method, recordedPath, expected, more = {}]: Recorded): Promise<void> {
    const fill = (text: string) => fillNames(text, this.#values)
    const short = recordedPath.includes('{short}') ? await this.#client.shortLivedToken() : undefined
    if (short !== undefined) this.#values.set('short', short)
    const path = fill(recordedPath)
    const what = `${method} ${recordedPath}`
    const headers = new Headers()
    if (more.type !== undefined) headers.set('content-type', more.type)
    if (more.for !== undefined) headers.set('x-on-behalf-of', fill(more.for))
    if (method !== 'GET') headers.set('x-xsrf-token', (await this.#client.csrfPair()).value)
    const body = more.form ? formOf(more.form, fill) : more.body === undefined ? undefined : fill(more.body)
    const token = this.#client.token
    if (more.open) this.#client.token = undefined
    const response = await this.#client.request(path, {
      method,
      headers,
      ...(body !== undefined && { body }),
    })
    this.#client.token = token
    const text = await response.text()
    // A machine may pause for the two seconds of the token (T2).
    const isLate = short !== undefined && Date.now() >= claimsOf(short).exp * 1000
    if (isLate && response.status === 401) return this.ask([method, recordedPath, expected, more])
    const shape = shapeOf(response.headers.get('content-type') ?? '', text)
    const counted = expected.endsWith(anyCount) ? shape.replace(/\*\d+$/, anyCount) : shape
    const known = expected.endsWith(` ${anyShape}`) ? anyShape : counted
    assert.equal(`${response.status} ${known}`.trim(), expected, `${what}\n${text}`)
    if (path === '/api/authn/login' && response.status === 200) this.#client.token = bearerOf(response)
    if (path === '/api/authn/logout') this.#client.token = undefined
    if (!/json/.test(response.headers.get('content-type') ?? '') || text === '') return
    const answer = JSON.parse(text) as Body
    assert.deepEqual([...missingIn(answer, this.#service.config.baseUrl)], [], what)
    if (method === 'GET') assert.equal(selfFault(answer, path, this.#service.config.baseUrl), undefined, what)
    for (const [name, pointer] of Object.entries(more.gives ?? {}))
      this.#values.set(name, valueAt(answer, pointer, what))
    if (answer.type === 'process' && method === 'POST') await this.#ended(String(answer.processId))
  }

  /** Waits for the end of a process, as the interface does by polling. */
  async #ended(id: string): Promise<void> {
    await until(
      `the end of process ${id}`,
      () => this.#service.storage.processes.one(Number(id)),
      process => process?.state !== 'scheduled' && process?.state !== 'running',
    )
  }
}

function formOf(parts: Readonly<Record<string, string>>, fill: (text: string) => string): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(parts))
    if (name === 'file') form.set(name, new Blob([`content of ${value}`], { type: 'text/plain' }), value)
    else form.set(name, fill(value))
  return form
}

function valueAt(body: unknown, pointer: string, what: string): string {
  let value = body
  for (const key of pointer.split('/').slice(1))
    value = (value as Record<string, unknown> | undefined)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')]
  assert.ok(typeof value === 'string', `${what} has no ${pointer}`)
  return value
}

for (const { walk, requests } of walks)
  test(`W1 I2 M1 what DSpace’s interface asks is answered: ${walk}`, async t => {
    const service = await startService(t, { env: worldSettings })
    const replay = new Replay(service, await addInterfaceWorld(service))
    for (const request of requests) await replay.ask(request)
  })
