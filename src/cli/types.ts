import { readFileSync, writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { systemReason } from '../lib/system-errors.ts'
import { Failure, Misuse } from './failures.ts'
import { say } from './output.ts'

interface Options {
  readonly out?: string
  readonly tokenFile?: string
  readonly queryBase: string
  readonly bigint?: boolean
}

/** Time limit of a request in ms. */
const patience = 30_000

/** `carrel types <url>`: the entities of a running service, as types for `@carrel/client` (CL13). */
export const typesCommand = (): Command =>
  new Command('types')
    .argument('<url>', 'the public address of the service, such as https://repo.example.edu/server')
    .description('Write TypeScript types of the entities that a caller may read, for @carrel/client.')
    .option('--out <file>', 'the file to write; the default is standard output')
    .option('--token-file <file>', 'a file with a token; the default is CARREL_TOKEN, or nobody')
    .option('--query-base <path>', 'CARREL_QUERY_BASE of the service', '/api/query/v4')
    .option('--bigint', 'for a client with the option bigint: integers may be BigInt')
    .action(async (url: string, { out, tokenFile, queryBase, bigint = false }: Options) => {
      const base = addressOf(url)
      const token = tokenFile === undefined ? process.env.CARREL_TOKEN : readToken(tokenFile)
      if (token) await checkToken(base, token)
      const entities = (await ask(`${base}${queryBase}`, token)) as readonly Described[]
      if (!Array.isArray(entities) || !entities.every(one => Array.isArray(one?.fields)))
        throw new Failure(`${base}${queryBase} does not describe entities; is it the query base of Carrel?`)
      const text = typesOf(entities, base, { bigint })
      if (out === undefined) return say(text.trimEnd())
      write(out, text)
      say(`Wrote the types of ${entities.length} ${entities.length === 1 ? 'entity' : 'entities'} to ${out}.`)
    })

function addressOf(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Misuse(`<url> must be an address such as http://localhost:8080, not ${JSON.stringify(text)}`)
  if (url.username !== '' || url.password !== '')
    throw new Misuse('<url> must not have a password; give a token in CARREL_TOKEN or --token-file')
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Failure(`${file} can't be read: ${systemReason(error) ?? error}`)
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new Failure(`${file} can't be written: ${systemReason(error) ?? error}`)
  }
}

/**
 * Requires a valid token. An invalid one would count as none: entities would be missing, without a reason.
 */
async function checkToken(base: string, token: string): Promise<void> {
  const status = (await ask(`${base}/api/authn/status`, token)) as { readonly authenticated?: boolean }
  if (status?.authenticated !== true)
    throw new Failure('the token is not valid (any more); `carrel token <email>` prints a new one')
}

async function ask(address: string, token: string | undefined): Promise<unknown> {
  let response: Response
  try {
    response = await fetch(address, {
      headers: { accept: 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
      signal: AbortSignal.timeout(patience),
    })
  } catch (error) {
    const { cause } = error as { readonly cause?: unknown }
    throw new Failure(`${address} does not answer: ${systemReason(cause) ?? (error as Error).message}`)
  }
  const body: unknown = await response.json().catch(() => undefined)
  const { detail } = (body ?? {}) as { readonly detail?: unknown }
  if (!response.ok || body === undefined)
    throw new Failure(
      `${address} answered ${response.status}${typeof detail === 'string' ? `: ${detail}` : ''}`,
    )
  return body
}

/** The service's description of an entity (Q12), as far as types need it. */
interface Described {
  readonly name: string
  readonly key: string | readonly string[]
  readonly description?: string
  readonly fields: readonly DescribedField[]
}

interface DescribedField {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly label?: string
  readonly help?: string
  readonly unit?: string
  readonly oneOf?: readonly (string | number | boolean)[]
}

/**
 * Writes a TypeScript file: an interface for the records of each entity, and one that names them all (CL13).
 */
export function typesOf(
  entities: readonly Described[],
  from: string,
  { bigint = false }: { readonly bigint?: boolean } = {},
): string {
  const types = bigint ? exactTypes : usualTypes
  const json = types.json ?? ''
  const taken = new Set(['Entities', 'ExactJson', 'Instant', 'Json'])
  const named = entities.map(entity => ({ entity, type: typeName(entity.name, taken) }))
  const used = new Set(entities.flatMap(({ fields }) => fields.map(field => types[field.type] ?? json)))
  const imported = ['ExactJson', 'Instant', 'Json'].filter(name => used.has(name))
  const head = [
    `// Written by \`carrel types ${from}${bigint ? ' --bigint' : ''}\`: the entities that its caller may read.`,
    ...(imported.length > 0 ? [`import type { ${imported.join(', ')} } from '@carrel/client'`] : []),
  ]
  const list = named.map(({ entity, type }) => `  readonly ${property(entity.name)}: ${type}`)
  return `${head.join('\n')}

${named.map(({ entity, type }) => interfaceOf(entity, type, types)).join('\n')}
/** For \`createClient<Entities>(…)\`. */
export interface Entities {
${list.map(line => `${line}\n`).join('')}}
`
}

type Types = Readonly<Record<string, string>>

function interfaceOf({ name, key, fields, description }: Described, type: string, types: Types): string {
  const keys = [key].flat()
  const members = fields.map(
    field =>
      `${wordsOf(field)}  readonly ${property(field.name)}: ${typeOf(field, types)}${field.nullable ? ' | null' : ''}\n`,
  )
  const what = description === undefined ? '' : ` ${comment(description)}`
  return `/** ${comment(name)}, by ${comment(keys.join(', '))}.${what} */\nexport interface ${type} {\n${members.join('')}}\n`
}

/** A comment with what is declared of a field for people. */
function wordsOf({ label, help, unit }: DescribedField): string {
  const words = [label, unit && `in ${unit}`].filter(Boolean).join(', ')
  const all = [words, help].filter(Boolean).join('. ')
  return all === '' ? '' : `  /** ${comment(all)} */\n`
}

/** Maximum number of values of a list that become a type. */
const maxValues = 100

function typeOf({ type, oneOf }: DescribedField, types: Types): string {
  const literals = oneOf && oneOf.length <= maxValues && (type === 'text' || type === 'integer')
  return literals ? oneOf.map(value => JSON.stringify(value)).join(' | ') : (types[type] ?? types.json ?? '')
}

const usualTypes: Types = {
  text: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  'date-time': 'Instant',
  json: 'Json',
}

/** Types for a client that reads integers as BigInt if a number would lose digits. */
const exactTypes: Types = {
  ...usualTypes,
  integer: 'number | bigint',
  number: 'number | bigint',
  json: 'ExactJson',
}

/** Makes the name of a type: `audit-events` becomes AuditEvents. Equal names are told apart by numbers. */
function typeName(name: string, taken: Set<string>): string {
  const words = name.split(/[^\p{ID_Continue}]+/u).filter(Boolean)
  const joined = words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  const stem = /^[\p{ID_Start}_$]/u.test(joined) ? joined : `_${joined}`
  let found = stem
  for (let n = 2; taken.has(found); n++) found = `${stem}${n}`
  taken.add(found)
  return found
}

const property = (name: string) =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? name : /^[\w -]*$/.test(name) ? `'${name}'` : JSON.stringify(name)

/** Makes a text safe in a comment: names come from files and tables, and must not end it. */
const comment = (text: string) => text.replaceAll('*/', '*\\/').replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
