import type { Members } from '../lib/json.ts'
import type { Changes } from '../model/audit-events.ts'

/** Members that the audit trail tells of one change, and characters of the JSON of each. */
const maxMembers = 30
const maxValue = 300

/** What differs between two records, as the audit trail keeps it. */
export function changesBetween(before: Members | null, after: Members | null): Changes {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const different = names.filter(name => jsonIn(before, name) !== jsonIn(after, name))
  const some = different.slice(0, maxMembers)
  const more = different.length - some.length
  const side = (record: Members | null) =>
    record && {
      ...Object.fromEntries(some.map(name => [name, shortened(jsonIn(record, name))])),
      ...(more > 0 && { '…': `and ${more} more` }),
    }
  return { before: side(before), after: side(after) }
}

const jsonIn = (record: Members | null, name: string): string =>
  (record && Object.hasOwn(record, name) ? JSON.stringify(record[name]) : undefined) ?? 'null'

/** Where a double would lose digits, or the value is long, its JSON as a text. */
function shortened(json: string): unknown {
  if (json.length > maxValue) return `${json.slice(0, maxValue)}…`
  const value: unknown = JSON.parse(json)
  return JSON.stringify(value) === json ? value : json
}
