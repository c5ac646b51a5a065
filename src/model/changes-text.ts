import type { Changes } from './audit-events.ts'

/** Characters of a member's value, and of each side, as JSON. What is longer is cut, so that an event stays small. */
const maxValue = 1_000
const maxSide = 2_000
/** Characters that stay of what is cut, and of a member's name. */
const kept = 250
const mark = '…'

/**
 * What an administrator changed, as JSON that an event stores: at most some kB, whatever was changed. A value that is cut
 * becomes a text that ends in `…`, and so it is still JSON.
 */
export function changesText({ before, after }: Changes): string {
  const text = `{"before":${sideText(before)},"after":${sideText(after)}}`
  // PostgreSQL's JSON can have neither NUL nor an unpaired surrogate; JSON.stringify escapes both. An escape is read as a
  // whole, so that an escaped backslash before `u0000` stays one.
  return text.replace(/\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g, (whole, escaped: string) =>
    escaped.length > 1 ? '\uFFFD' : whole,
  )
}

function sideText(side: Changes['before']): string {
  if (side === null) return 'null'
  const members: string[] = []
  let length = 0
  for (const [name, value] of Object.entries(side)) {
    const text = JSON.stringify(value) ?? 'null'
    const shown = text.length > maxValue ? JSON.stringify(`${cut(value, text)}${mark}`) : text
    const member = `${JSON.stringify(cutName(name))}:${shown}`
    length += member.length
    if (length > maxSide) {
      members.push(`"${mark}":"${mark}"`)
      break
    }
    members.push(member)
  }
  return `{${members.join()}}`
}

const cut = (value: unknown, text: string) => (typeof value === 'string' ? value : text).slice(0, kept)
const cutName = (name: string) => (name.length > kept ? `${name.slice(0, kept)}${mark}` : name)
