import type { Process } from '@carrel/client/processes'
import { a, aOf } from '../i18n/admin.ts'
import { formatBytes, formatDuration, formatNumber, t } from '../i18n/i18n.ts'
import { readersInWords } from '../people/rules.ts'

/** The parameters or the result of a process, in words. */
type Said = readonly (readonly [name: string, value: string])[]

/** Parameters and results that mean something only to the service. */
const unsaid = new Set(['upload', 'fields', 'query', 'recipe', 'misfits', 'notes'])

export const parametersOf = ({ scriptName, parameters }: Process): Said =>
  parameters.flatMap(({ name: given, value }) => {
    // The service shows short names, and two scripts use the same one.
    const name = scriptName === 'verify-trail' && given === '-c' ? '--checkpoint' : given
    return unsaid.has(name) ? [] : [[aOf('parameter', name), inWords(name, value)] as const]
  })

/** The entity that a process is about. */
export const entityOf = ({ parameters }: Process): string | undefined =>
  parameters.find(({ name }) => name === 'entity')?.value

/** Puts the result of a process into words, without the values that repeat a parameter. */
export function resultOf({ parameters, result }: Process): Said {
  const given = new Map(parameters.map(({ name, value }) => [name, value]))
  return Object.entries(result ?? {}).flatMap(([name, value]) => {
    const isEmpty = value === null || (Array.isArray(value) && value.length === 0)
    if (isEmpty || unsaid.has(name) || given.get(name) === String(value)) return []
    return [[aOf('result', name), inWords(name, value)] as const]
  })
}

function inWords(name: string, value: unknown): string {
  if (name === 'bytes') return formatBytes(Number(value))
  if (name === 'milliseconds') return formatDuration(Number(value) / 1000)
  if (name === 'read' && typeof value === 'string') return readersInWords(value)
  if (name === 'mode' || name === 'kind') return aOf('mode', String(value))
  if (typeof value === 'number') return formatNumber(value)
  if (typeof value === 'boolean' || value === 'true' || value === 'false')
    return t(String(value) === 'true' ? 'yes' : 'no')
  if (Array.isArray(value) && value.every(one => typeof one === 'string')) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1)
}

/** Members of a result that count or list failures. */
const bad = new Set(['failed', 'failures', 'faults', 'missing', 'damaged', 'lost'])

/** True if the process finished but reports failures. */
export const hasFailures = ({ result }: Pick<Process, 'result'>): boolean =>
  Object.entries(result ?? {}).some(
    ([name, value]) => bad.has(name) && (Array.isArray(value) ? value.length > 0 : Number(value) > 0),
  )

/** Describes a process in one line: its failure, or else its parameters. */
export const inOneLine = (process: Process): string =>
  process.fault ??
  parametersOf(process)
    .map(([name, value]) => a('process.detail', { name, value }))
    .join(', ')
