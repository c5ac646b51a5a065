import assert from 'node:assert/strict'
import type { Client } from '../clients/client.ts'

/** The members of answers about items, bundles, files and policies that tests read. */
export interface Answer {
  readonly id: string
  readonly uuid: string
  readonly name: string
  readonly type: string
  readonly withdrawn: boolean
  readonly discoverable: boolean
  readonly sizeBytes: number
  readonly checkSum: { readonly value: string }
  readonly metadata: Readonly<
    Record<string, readonly { readonly value: string; readonly language: string | null }[]>
  >
  readonly action: string
  readonly startDate: string | null
  readonly detail: string
  readonly _embedded: Readonly<Record<string, readonly Answer[]>>
  readonly page: { readonly totalElements: number }
  readonly _links: Readonly<Record<string, { readonly href: string }>>
}

type Method = 'post' | 'put' | 'patch' | 'delete'

/** Sends a change with a JSON body. @returns the answer */
export async function change(
  client: Client,
  method: Method,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: Answer; readonly headers: Headers }> {
  const type = method === 'patch' ? 'application/json-patch+json' : 'application/json'
  const response = await client[method](
    path,
    body === undefined ? undefined : JSON.stringify(body),
    body === undefined ? headers : { 'content-type': type, ...headers },
  )
  const text = await response.text()
  return {
    status: response.status,
    body: (text === '' ? {} : JSON.parse(text)) as Answer,
    headers: response.headers,
  }
}

/** Sends a change with one address as `text/uri-list`. */
export async function changeTo(
  client: Client,
  method: Method,
  path: string,
  address: string,
): Promise<number> {
  const response = await client[method](path, address, { 'content-type': 'text/uri-list' })
  await response.arrayBuffer()
  return response.status
}

export async function read(client: Client, path: string): Promise<Answer> {
  const response = await client.get(path)
  const text = await response.text()
  assert.equal(response.status, 200, `${path}: ${text}`)
  return JSON.parse(text) as Answer
}

export async function statusOf(client: Client, path: string): Promise<number> {
  const response = await client.get(path)
  await response.arrayBuffer()
  return response.status
}

interface SentFile {
  readonly name: string
  readonly content: string | Uint8Array<ArrayBuffer>
  readonly type?: string
}

/** Sends a file in a form, as DSpace's clients do. */
export const upload = (client: Client, bundle: string, file: SentFile, properties?: object) =>
  sendFile(client, 'POST', `/api/core/bundles/${bundle}/bitstreams`, file, { properties })

/** Replaces the content of a bitstream with a file in a form. @param query such as `?replaceName=true` */
export const replaceContent = (
  client: Client,
  bitstream: string,
  file: SentFile,
  query = '',
  headers: Readonly<Record<string, string>> = {},
) => sendFile(client, 'PUT', `/api/core/bitstreams/${bitstream}/content${query}`, file, { headers })

async function sendFile(
  client: Client,
  method: 'POST' | 'PUT',
  path: string,
  file: SentFile,
  more: { readonly properties?: object | undefined; readonly headers?: Readonly<Record<string, string>> },
): Promise<{ readonly status: number; readonly body: Answer }> {
  const form = new FormData()
  if (more.properties) form.set('properties', `${JSON.stringify(more.properties)};application/json`)
  form.set('file', new Blob([file.content], { type: file.type ?? '' }), file.name)
  const csrf = { 'x-xsrf-token': (await client.csrfPair()).value, 'content-encoding': 'gzip' }
  const response = await client.request(path, { method, body: form, headers: { ...csrf, ...more.headers } })
  return { status: response.status, body: (await response.json()) as Answer }
}

/** Adds an item with a bundle ORIGINAL. */
export async function newItem(client: Client, title = 'On Rivers') {
  const added = await change(client, 'post', '/api/core/items', {
    metadata: { 'dc.title': [{ value: title, language: 'en' }] },
  })
  assert.equal(added.status, 201, JSON.stringify(added.body))
  const { uuid } = added.body
  const bundle = await change(client, 'post', `/api/core/items/${uuid}/bundles`, {
    name: 'ORIGINAL',
    metadata: {},
  })
  assert.equal(bundle.status, 201, JSON.stringify(bundle.body))
  return { uuid, path: `/api/core/items/${uuid}`, bundle: bundle.body.uuid }
}
