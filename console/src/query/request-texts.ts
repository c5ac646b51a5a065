import { printAst } from '../../../src/query/language/node.ts'
import { readPql } from '../../../src/query/language/read-pql.ts'
import { isAst } from './pql.ts'

/** The content of a page as a request to the service: a query, or a single record by its key. */
export interface Requested {
  /** In PQL, or an AST in JSON. */
  readonly query: string
  readonly limit?: number
  readonly offset?: number
  /** The record is asked for by its key; the query is another way to find it. */
  readonly record?: { readonly entity: string; readonly key: readonly string[] }
}

interface Place {
  /** The address of the service, as clients take it. */
  readonly service: string
  readonly queryBase: string
  /** True if the request needs a token, for which a placeholder stands. */
  readonly needsToken: boolean
}

/** Takes the place of a token: a request is copied to documents and chats, where none belongs. */
export const placeholder = '$TOKEN'

/** Number of characters of a query from which on it is sent in a body, because addresses are limited. */
const longestInAddress = 4_000

/** Returns what is shown as an AST; undefined for a query that can't be read. */
export function astOf({ query }: Requested): string | undefined {
  if (isAst(query)) return query
  try {
    return printAst(readPql(query))
  } catch {
    return undefined
  }
}

const parametersOf = ({ query, limit, offset = 0 }: Requested): readonly (readonly [string, string])[] => [
  ['query', query],
  ...(limit === undefined ? [] : [['limit', String(limit)] as const]),
  ...(offset === 0 ? [] : [['offset', String(offset)] as const]),
  ...(limit === undefined ? [] : [['include_total', 'true'] as const]),
]

/** Writes the last part of a record's address; commas separate the values of a composite key. */
const keyPath = (key: readonly string[]) =>
  encodeURIComponent(
    key.length === 1 ? (key[0] ?? '') : key.map(one => one.replaceAll(/[\\,]/g, '\\$&')).join(','),
  )

const pathOf = ({ record }: Requested, { service, queryBase }: Place) =>
  record
    ? `${service}${queryBase}/${encodeURIComponent(record.entity)}/${keyPath(record.key)}`
    : `${service}${queryBase}`

/** Returns the address that answers with what is shown. */
export function addressOf(requested: Requested, place: Place): string {
  const path = pathOf(requested, place)
  return requested.record
    ? path
    : `${path}?${new URLSearchParams(parametersOf(requested) as [string, string][])}`
}

const inShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

export function curlOf(requested: Requested, place: Place): string {
  const path = pathOf(requested, place)
  const bearer = place.needsToken ? [`-H "Authorization: Bearer ${placeholder}"`] : []
  const parameters = parametersOf(requested)
  const isLong = requested.query.length > longestInAddress
  const lines = requested.record
    ? [`curl ${inShell(path)}`, ...bearer]
    : isLong
      ? [`curl ${inShell(path)}`, ...bearer, ...parameters.map(formed)]
      : [`curl -G ${inShell(path)}`, ...bearer, ...parameters.map(formed)]
  return lines.join(' \\\n  ')
}

const formed = ([name, value]: readonly [string, string]) => `--data-urlencode ${inShell(`${name}=${value}`)}`

/** Writes a text in JavaScript; in lines where it has several. */
const inScript = (text: string) =>
  text.includes('\n') ? `\`${text.replaceAll(/[\\`]|\$(?=\{)/g, '\\$&')}\`` : quoted(text)

const quoted = (text: string) => (/^[^'\\\n]*$/.test(text) ? `'${text}'` : JSON.stringify(text))

export function fetchOf(requested: Requested, place: Place): string {
  const path = pathOf(requested, place)
  const bearer = place.needsToken ? `headers: { authorization: 'Bearer ${placeholder}' }` : ''
  const options = (more = '') => {
    const list = [more, bearer].filter(Boolean).join(', ')
    return list === '' ? '' : `, { ${list} }`
  }
  const parameters = parametersOf(requested)
  const isLong = requested.query.length > longestInAddress
  const asked = requested.record
    ? [`const response = await fetch(${quoted(path)}${options()})`]
    : [
        'const asked = new URLSearchParams({',
        ...parameters.map(([name, value]) => `  ${name}: ${inScript(value)},`),
        '})',
        isLong
          ? `const response = await fetch(${quoted(path)}${options("method: 'POST', body: asked")})`
          : `const response = await fetch(\`${path}?\${asked}\`${options()})`,
      ]
  return [
    ...asked,
    'if (!response.ok) throw new Error(await response.text())',
    `const ${requested.record ? 'record' : 'records'} = await response.json()`,
  ].join('\n')
}

/** The place of queries unless an operator chooses another. */
const usualBase = '/api/query/v4'

export function clientOf({ query, limit, offset = 0, record }: Requested, place: Place): string {
  const options = [
    ...(place.needsToken ? [`token: '${placeholder}'`] : []),
    ...(place.queryBase === usualBase ? [] : [`queryBase: ${quoted(place.queryBase)}`]),
  ]
  const given = options.length === 0 ? '' : `, { ${options.join(', ')} }`
  const window = [
    ...(limit === undefined ? [] : [`limit: ${limit}`]),
    ...(offset === 0 ? [] : [`offset: ${offset}`]),
  ]
  const [only = '', ...more] = record?.key.map(quoted) ?? []
  const key = more.length === 0 ? only : `[${[only, ...more].join(', ')}]`
  return [
    "import { createClient } from '@carrel/client'",
    '',
    `const client = createClient(${quoted(place.service)}${given})`,
    record
      ? `const { record } = await client.entity(${quoted(record.entity)}).get(${key})`
      : window.length === 0
        ? `const records = await client.pql(${inScript(query)}).all()`
        : `const { records, total } = await client.pql(${inScript(query)}).page({ ${[...window, 'total: true'].join(', ')} })`,
  ].join('\n')
}
