import assert from 'node:assert/strict'
import type { Client } from './client.ts'

/** Paths of the endpoints at which an administrator manages epersons and groups. */
export const epersonsPath = '/api/eperson/epersons'
export const groupsPath = '/api/eperson/groups'

const json = { 'content-type': 'application/json' }
const uriList = { 'content-type': 'text/uri-list' }

export const postJson = (client: Client, path: string, body: unknown) =>
  client.post(path, typeof body === 'string' ? body : JSON.stringify(body), json)

export const patchJson = (client: Client, path: string, operations: unknown, headers = {}) =>
  client.patch(path, JSON.stringify(operations), { ...json, ...headers })

/** @param member the path of an eperson or a group */
export const addTo = (client: Client, path: string, member: string) =>
  client.post(path, `http://other.example${member}\r\n`, uriList)

export interface Body {
  readonly uuid: string
  readonly name: string
  readonly email: string
  readonly canLogIn: boolean
  readonly permanent: boolean
  readonly metadata: Readonly<Record<string, readonly { readonly value: string }[]>>
}

/** Returns the body of an answer that must have this status. */
export async function bodyWith(response: Response, status: number): Promise<Body> {
  const text = await response.text()
  assert.equal(response.status, status, text)
  return (text === '' ? {} : JSON.parse(text)) as Body
}

/** @returns the group's UUID */
export const newGroup = async (client: Client, name: string): Promise<string> =>
  (await bodyWith(await postJson(client, groupsPath, { name }), 201)).uuid

/** Returns the first value of each field. */
export const valuesOf = ({ metadata }: Pick<Body, 'metadata'>) =>
  Object.fromEntries(Object.entries(metadata).map(([field, [first]]) => [field, first?.value]))

/** Returns the names on a page of groups, or the email addresses on a page of epersons. */
export async function listed(client: Client, path: string): Promise<readonly string[]> {
  const response = await client.get(path)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  const { _embedded, page } = JSON.parse(text) as {
    _embedded: Record<string, { name: string }[]>
    page: { totalElements: number }
  }
  const names = Object.values(_embedded).flatMap(all => all.map(({ name }) => name))
  assert.equal(page.totalElements, names.length)
  return names
}
