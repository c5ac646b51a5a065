/** The service's description of an entity (Q12), as far as types need it. */
export interface Described {
  readonly name: string
  readonly key: string | readonly string[]
  readonly fields: readonly { readonly name: string; readonly type: string; readonly nullable: boolean }[]
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

function interfaceOf({ name, key, fields }: Described, type: string, types: Types): string {
  const keys = [key].flat()
  const members = fields.map(
    field =>
      `  readonly ${property(field.name)}: ${types[field.type] ?? types.json}${field.nullable ? ' | null' : ''}\n`,
  )
  return `/** ${comment(name)}, by ${comment(keys.join(', '))}. */\nexport interface ${type} {\n${members.join('')}}\n`
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
