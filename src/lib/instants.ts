import { withoutLastZeros } from './json.ts'

/** A date-time of RFC 3339 in UTC, with the digits of its fraction that say something. */
export function inUtc(text: string): string {
  const [, head = '', fraction = '', zone = ''] = /^(.{19})(?:\.(\d+))?(.+)$/.exec(text) ?? []
  // Date knows no leap seconds.
  const at = Date.parse(`${head.replace(/[t ]/, 'T').replace(/60$/, '59')}${zone.toUpperCase()}`)
  if (Number.isNaN(at)) return text
  const seconds = new Date(at).toISOString().replace(/\.\d+Z$/, '')
  const digits = withoutLastZeros(fraction)
  return `${head.endsWith('60') ? seconds.replace(/59$/, '60') : seconds}${digits === '' ? '' : `.${digits}`}Z`
}
