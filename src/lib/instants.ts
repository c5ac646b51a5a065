import { withoutLastZeros } from './json.ts'

/** Converts an RFC 3339 date-time to UTC, without zeros at the end of its fraction. */
export function inUtc(text: string): string {
  const [, head = '', fraction = '', zone = ''] = /^(.{19})(?:\.(\d+))?(.+)$/.exec(text) ?? []
  // `Date` doesn't know leap seconds.
  const at = Date.parse(`${head.replace(/[t ]/, 'T').replace(/60$/, '59')}${zone.toUpperCase()}`)
  if (Number.isNaN(at)) return text
  const seconds = new Date(at).toISOString().replace(/\.\d+Z$/, '')
  const digits = withoutLastZeros(fraction)
  return `${head.endsWith('60') ? seconds.replace(/59$/, '60') : seconds}${digits === '' ? '' : `.${digits}`}Z`
}
