import assert from 'node:assert/strict'
import { baseUrl, type Service } from '../service/service.ts'

/** Path of the query endpoints. Their answers are read here without any help of the code under test. */
export const queryPath = '/api/query/v4'

export type Parameters = Readonly<Record<string, string | number | boolean | readonly unknown[]>>

/** Returns the address of a list request; an array is sent as JSON. */
export function listPath(entity: string, parameters: Parameters = {}): string {
  const pairs = Object.entries(parameters).map(
    ([name, value]) =>
      `${name}=${encodeURIComponent(typeof value === 'object' ? JSON.stringify(value) : String(value))}`,
  )
  return `${queryPath}/${entity}${pairs.length > 0 ? '?' : ''}${pairs.join('&')}`
}

/** Returns the records of a list request that must succeed. */
export async function list<T = Record<string, unknown>>(
  client: { get(path: string): Promise<Response> },
  entity: string,
  parameters: Parameters = {},
): Promise<T[]> {
  const response = await client.get(listPath(entity, parameters))
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text) as T[]
}

/** Returns the unchanged body of an anonymous list request. */
export async function bodyOf(
  service: Pick<Service, 'address'>,
  path: string,
  accept = 'application/json',
): Promise<string> {
  const response = await fetch(service.address + path, { headers: { accept } })
  const bytes = await response.arrayBuffer()
  // The default decoder would remove a byte-order mark that belongs to a text.
  const text = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes)
  assert.equal(response.status, 200, text)
  return text
}

export interface ListProblem {
  readonly detail: string
  readonly parameter?: string
  readonly value?: string
  readonly position?: number
  readonly pointer?: string
  readonly legal?: unknown
  readonly mistake?: string
  readonly found?: string
  readonly nearest?: string
}

/** Returns the problem of a request that must fail with this status. */
export async function problemOf(response: Response, status: number): Promise<ListProblem> {
  const text = await response.text()
  assert.equal(response.status, status, text)
  assert.equal(response.headers.get('content-type'), 'application/problem+json')
  return JSON.parse(text) as ListProblem
}

/** Returns the links of an answer by relation, as paths for requests to the service under test. */
export function linksOf(response: Response): Partial<Record<string, string>> {
  const links: Record<string, string> = {}
  for (const link of (response.headers.get('link') ?? '').split(', ')) {
    if (link === '') continue
    const [, address = '', relation = ''] = /^<([^>]+)>; rel="([a-z]+)"$/.exec(link) ?? []
    assert.ok(address.startsWith(`${baseUrl}/`), `${link} starts with the public address`)
    links[relation] = address.slice(baseUrl.length)
  }
  return links
}

export interface Cell {
  readonly text: string
  /** True for a quoted cell. An empty cell is a text if it is quoted, otherwise null. */
  readonly quoted: boolean
}

/** Parses CSV strictly by RFC 4180 §2: CRLF after every line, quotes doubled inside quotes. */
export function readCsv(csv: string): Cell[][] {
  const endOfCell = /[,\r\n]/g
  const rows: Cell[][] = []
  let row: Cell[] = []
  for (let at = 0; at < csv.length; ) {
    const quoted = csv[at] === '"'
    let text = ''
    if (quoted) {
      for (at++; csv[at] !== '"' || csv[at + 1] === '"'; at++) {
        assert.ok(at < csv.length, 'a quoted cell ends')
        if (csv[at] === '"') at++
        text += csv[at]
      }
      at++
    } else {
      endOfCell.lastIndex = at
      const end = endOfCell.exec(csv)
      assert.ok(end, 'the last line ends')
      text = csv.slice(at, end.index)
      assert.ok(!text.includes('"'), 'quotes stand only in quoted cells')
      at = end.index
    }
    row.push({ text, quoted })
    if (csv[at] === ',') {
      at++
      continue
    }
    assert.equal(csv.slice(at, at + 2), '\r\n', 'a line ends with CRLF')
    at += 2
    rows.push(row)
    row = []
  }
  assert.deepEqual(row, [], 'the last line ends')
  return rows
}
