import { a, aOf } from '../i18n/admin.ts'
import { formatTime } from '../i18n/i18n.ts'

/** Puts a rule for readers, such as `group:Curators from:2030-01-01`, into words. */
export function readersInWords(rule: string): string {
  const [, reader = rule, rest = ''] = /^(.*?)((?:\s+(?:from|until):\S+)*)$/s.exec(rule) ?? []
  const day = (name: string) => new RegExp(`${name}:(\\S+)`).exec(rest)?.[1]
  const [from, until] = [day('from'), day('until')]
  return [
    readerInWords(reader),
    ...(from ? [a('rule.from', { day: dayInWords(from) })] : []),
    ...(until ? [a('rule.until', { day: dayInWords(until) })] : []),
  ].join(' ')
}

export const dayInWords = (day: string): string => formatTime(`${day}T00:00:00Z`)

function readerInWords(reader: string): string {
  if (reader === 'anonymous') return aOf('role', 'anonymous')
  if (reader === 'eperson') return aOf('role', 'eperson')
  if (reader === 'admin') return aOf('role', 'admin')
  const [, person] = /^eperson:\s*(.+)$/.exec(reader) ?? []
  if (person) return a('rule.person', { name: person })
  return a('rule.group', { name: reader.replace(/^group:\s*/, '') })
}
