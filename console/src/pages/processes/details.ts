import type { Process } from '@carrel/client/processes'
import { a, aOf } from '../../i18n/admin.ts'
import { formatBytes, formatDuration, formatNumber, t } from '../../i18n/i18n.ts'
import { readersInWords } from '../entities-admin/rules.ts'

/** The parameters of a process, or its outcome, in words. */
export type Said = readonly (readonly [name: string, value: string])[]

/** Names of what only the service has to tell apart. */
const unsaid = new Set(['upload', 'fields'])

export const parametersOf = ({ parameters }: Process): Said =>
  parameters.flatMap(({ name, value }) =>
    unsaid.has(name) ? [] : [[aOf('parameter', name), inWords(name, value)] as const],
  )

/** A value that is a parameter, too, is said once. */
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
  if (name === 'mode') return aOf('mode', String(value))
  if (typeof value === 'number') return formatNumber(value)
  if (typeof value === 'boolean' || value === 'true' || value === 'false')
    return t(String(value) === 'true' ? 'yes' : 'no')
  if (Array.isArray(value) && value.every(one => typeof one === 'string')) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1)
}

/** Members of a result that count or list failures. */
const bad = new Set(['failed', 'failures', 'faults', 'missing', 'damaged', 'lost'])

/** It ran to its end, and not everything went well. */
export const hasFailures = ({ result }: Pick<Process, 'result'>): boolean =>
  Object.entries(result ?? {}).some(
    ([name, value]) => bad.has(name) && (Array.isArray(value) ? value.length > 0 : Number(value) > 0),
  )

/** In a line: why it failed, or what it was begun with. */
export const inOneLine = (process: Process): string =>
  process.fault ??
  parametersOf(process)
    .map(([name, value]) => a('process.detail', { name, value }))
    .join(', ')
