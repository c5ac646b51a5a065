import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Page, Request } from 'playwright-core'
import { siteUuid } from '../../src/items/sites.ts'
import { anyCount, anyShape, type Recorded, type RecordedWalk, shapeOf } from '../support/clients/recorded.ts'

/** A request as the browser sent it, and its answer. */
interface Sent {
  readonly method: string
  readonly path: string
  readonly type: string
  readonly body: string
  readonly onBehalfOf: string
  readonly who: string
  readonly hadToken: boolean
  readonly status: number
  readonly shape: string
  readonly text: string
  /** Times in ms. */
  readonly begun: number
  readonly ended: number
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
/** Matches UUIDs, and ids of policies, which extend the UUID of their object. */
const anyId = new RegExp(`${uuid}(?:_[0-9a-f]{12})?`, 'g')
const oneId = new RegExp(`^${uuid}(?:_[0-9a-f]{12})?$`)

/**
 * Records the requests of the interface, so that the everyday suite can repeat them without it
 * (test/journeys/dspace-interface-requests.test.ts). Of an answer, only the status and the shape are kept.
 */
export class Recorder {
  readonly #walk: string
  readonly #service: string
  readonly #known = new Map<string, string>()
  readonly #answers: Promise<Sent | undefined>[] = []
  readonly #finished = new Map<Request, (is: boolean) => void>()
  #hasToken = false

  /** @param known UUIDs by name */
  constructor(walk: string, service: string, ui: string, known: ReadonlyMap<string, string>) {
    this.#walk = walk
    this.#service = service
    for (const [name, value] of known) this.#known.set(value, name)
    this.#known.set(siteUuid(service), 'site')
    this.#known.set(service, 'base').set(encodeURIComponent(service), 'base%').set(ui, 'ui')
  }

  watch(page: Page): void {
    // In the order in which the requests were begun, because an answer may arrive after that to a later
    // change.
    page.on('request', request => {
      if (!request.url().startsWith(`${this.#service}/`)) return
      const begun = Date.now()
      const { promise, resolve } = Promise.withResolvers<boolean>()
      this.#finished.set(request, resolve)
      this.#answers.push(promise.then(is => (is ? this.#read(request, begun) : undefined)))
    })
    page.on('requestfinished', request => this.#finished.get(request)?.(true))
    page.on('requestfailed', request => this.#finished.get(request)?.(false))
  }

  async #read(request: Request, begun: number): Promise<Sent | undefined> {
    const ended = Date.now()
    const response = await request.response()
    if (!response) return undefined
    const headers = await request.allHeaders()
    const token = /^Bearer (.*)$/i.exec(headers.authorization ?? '')?.[1]
    const path = request.url().slice(this.#service.length)
    const hadToken = this.#hasToken
    const status = response.status()
    if (path === '/api/authn/login' && status === 200) this.#hasToken = true
    if (path === '/api/authn/logout' && status < 400) this.#hasToken = false
    const answer = await response.allHeaders()
    // The bodies of a page that was left are no longer available.
    const text = status === 204 ? '' : await response.text().catch(() => undefined)
    return {
      method: request.method(),
      path: path.replace(/authentication-token=[^&]+/, 'authentication-token={short}'),
      type: headers['content-type'] ?? '',
      body: request.postDataBuffer()?.toString() ?? '',
      onBehalfOf: headers['x-on-behalf-of'] ?? '',
      who: token === undefined ? '' : personIn(token),
      hadToken,
      status,
      shape: text === undefined ? anyShape : shapeOf(answer['content-type'] ?? '', text),
      text: text ?? '',
      begun,
      ended,
    }
  }

  /** @param seen requests of other walks */
  async finish(seen: Set<string>): Promise<RecordedWalk> {
    // Requests still under way are left out.
    for (const end of this.#finished.values()) end(false)
    const all = (await Promise.all(this.#answers)).filter(one => one !== undefined)
    const origins = new Map<string, { readonly at: number; readonly pointer: string }>()
    for (const [at, { text, shape }] of all.entries()) {
      if (text === '' || shape.includes('/')) continue
      for (const [pointer, id] of idsIn(JSON.parse(text)))
        if (!origins.has(id) && !this.#known.has(id)) origins.set(id, { at, pointer })
    }
    const gives = new Map<number, Record<string, string>>()
    const names = new Map<string, string>()
    const nameOf = (id: string) => {
      const known = this.#known.get(id) ?? names.get(id)
      if (known !== undefined) return `{${known}}`
      const origin = origins.get(id)
      if (!origin) return id
      const name = `id${names.size + 1}`
      names.set(id, name)
      gives.set(origin.at, { ...gives.get(origin.at), [name]: origin.pointer })
      return `{${name}}`
    }
    const named = (text: string) => {
      let result = text.replace(anyId, nameOf)
      for (const [value, name] of this.#known)
        if (/^https?[:%]/.test(value)) result = result.replaceAll(value, `{${name}}`)
      return result
    }
    const changes = all.filter(one => one.method !== 'GET')
    const lines = all.map(one => {
      const isBeside = changes.some(other => other.begun <= one.ended && one.begun <= other.ended)
      // The order of the two is unknown, and so is the number of elements.
      const shape = one.method === 'GET' && isBeside ? one.shape.replace(/\*\d+$/, anyCount) : one.shape
      return { one, line: lineOf({ ...one, shape }, named) }
    })
    const requests = lines.flatMap(({ one, line: [method, path, answer, more] }, at): Recorded[] => {
      const given = gives.get(at)
      const key = JSON.stringify([one.who, method, path, answer, more])
      const isOwn = /\{id\d+\}/.test(key)
      const name = isOwn ? `${this.#walk} ${key}` : key
      if (isRepeated(one) && seen.has(name) && !given) return []
      seen.add(name)
      const rest = { ...more, ...(given && { gives: given }) }
      return [Object.keys(rest).length === 0 ? [method, path, answer] : [method, path, answer, rest]]
    })
    return { walk: this.#walk, requests }
  }
}

function lineOf(one: Sent, named: (text: string) => string): Recorded {
  const { method, path, type, body, onBehalfOf, who, hadToken, status, shape } = one
  const isForm = /^multipart\//i.test(type)
  const more = {
    ...(hadToken && who === '' && { open: true as const }),
    ...(method !== 'GET' && !isForm && type !== '' && { type: type.replace(/;.*/, '') }),
    ...(!isForm && body !== '' && { body: named(body) }),
    ...(isForm && { form: formIn(named(body), one.text) }),
    ...(onBehalfOf !== '' && { for: named(onBehalfOf) }),
  }
  return [method, named(path), `${status} ${shape}`.trim(), more]
}

/**
 * Returns the parts of a form. The browser doesn't show forms with files; their name is taken from the
 * answer.
 */
function formIn(body: string, answer: string): Record<string, string> {
  if (body === '') return { file: (JSON.parse(answer) as { readonly name: string }).name }
  const parts = body.matchAll(/name="([^"]+)"(?:; filename="([^"]+)")?\r\n(?:[^\r]+\r\n)*\r\n([^\r]*)/g)
  return Object.fromEntries([...parts].map(([, name = '', file, value = '']) => [name, file ?? value]))
}

/** True for repeated requests, of which one is enough. */
const isRepeated = ({ method, path, body }: Sent) =>
  method === 'GET' || (path === '/api/authn/login' && body === '{}')

const personIn = (token: string): string => {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { eid: string }
  return claims.eid
}

/** Yields every UUID that is a whole value, with its JSON pointer. */
function* idsIn(value: unknown, pointer = ''): Generator<readonly [pointer: string, id: string]> {
  if (typeof value === 'string' && oneId.test(value)) yield [pointer, value]
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value))
    if (key !== '_links')
      yield* idsIn(member, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
}

/**
 * Writes one line for each request. Existing walks stay, such as those through another version of the
 * interface, and identical requests are not written again.
 */
export function writeWalks(path: string, walks: readonly RecordedWalk[]): void {
  const there = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  const known = new Set(there)
  const isNews = (line: string) =>
    !known.has(line) || !line.startsWith('["GET"') || line.includes('{id') || line.includes('"gives"')
  const lines = walks.flatMap(({ walk, requests }) => [
    JSON.stringify({ walk }),
    ...requests.map(one => JSON.stringify(one)).filter(isNews),
  ])
  writeFileSync(path, [...there, ...lines].map(line => `${line}\n`).join(''))
}
