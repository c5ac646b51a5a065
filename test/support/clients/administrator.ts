import assert from 'node:assert/strict'
import type { Service } from '../service/service.ts'
import { until } from '../service/waiting.ts'
import type { Client } from './client.ts'

/** An administrator who manages entities over HTTP. */
export interface Administrator {
  readonly client: Client
  readonly uuid: string
  send(method: string, path: string, body?: unknown, headers?: Headers): Promise<Answer>
  /** Sends records unchanged and returns the answer. */
  post(path: string, body: BodyInit | undefined, headers?: Headers): Promise<Answer>
  /** Imports records and waits for the end of the process. */
  imports(path: string, body: BodyInit, headers?: Headers): Promise<Ended>
  /** Waits for the end of the process that an answer names. @returns the ended process */
  ended(answer: Answer): Promise<Ended>
}

type Headers = Readonly<Record<string, string>>

export interface Answer {
  readonly status: number
  readonly headers: globalThis.Headers
  // Tests read any member of a body.
  readonly body: Body
}
// biome-ignore lint/suspicious/noExplicitAny: what a test expects, it asserts.
export type Body = any

export interface Ended {
  readonly state: string
  readonly fault: string | null
  readonly result: Readonly<Record<string, unknown>> | null
  readonly parameters: Readonly<Record<string, string>>
}

export const entitiesPath = '/api/admin/entities'

/** Adds an eperson who is an administrator, and logs them in. */
export async function administrator(service: Service, email = 'root@example.org'): Promise<Administrator> {
  const { uuid } = await service.addEperson(email, { admin: true })
  const client = service.client()
  await client.login(email)
  return administratorOf(service, client, uuid)
}

export function administratorOf(service: Service, client: Client, uuid: string): Administrator {
  async function request(method: string, path: string, init: RequestInit): Promise<Answer> {
    const pair = await client.csrfPair()
    const headers = { 'x-xsrf-token': pair.value, ...(init.headers as Headers) }
    const response = await client.request(`${entitiesPath}${path}`, { ...init, method, headers })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? null : JSON.parse(text),
    }
  }
  async function ended(answer: Answer): Promise<Ended> {
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
    const id = Number(/\/api\/system\/processes\/(\d+)$/.exec(answer.headers.get('location') ?? '')?.[1])
    return until(
      `the end of process ${id}`,
      async () => {
        const process = await service.storage.processes.one(id)
        assert.ok(process, `there is a process ${id}`)
        return process
      },
      ({ state }) => state !== 'scheduled' && state !== 'running',
    )
  }
  const post = (path: string, body: BodyInit | undefined, headers: Headers = {}) =>
    request('POST', path, { ...(body !== undefined && { body, duplex: 'half' }), headers } as RequestInit)
  return {
    client,
    uuid,
    send: (method, path, body, headers = {}) =>
      request(method, path, {
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      }),
    post,
    imports: async (path, body, headers) => ended(await post(path, body, headers)),
    ended,
  }
}
