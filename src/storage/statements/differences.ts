import { isDeepStrictEqual } from 'node:util'
import type { Changes } from '../../model/audit-events.ts'

type Values = Readonly<Record<string, unknown>>

/** Characters of what an event tells of each side. Of more, it tells only what was changed. */
const maxLength = 16_000

/**
 * The changes that an event records: only the members that differ, and only those fields of metadata.
 * @returns no member at all if nothing differs
 */
export function differences(before: Values | null, after: Values | null): { changes?: Changes } {
  const [was, is] = [flat(before ?? {}), flat(after ?? {})]
  const names = [...new Set([...was.keys(), ...is.keys()])].filter(
    name => !isDeepStrictEqual(was.get(name), is.get(name)),
  )
  if (names.length === 0) return {}
  const side = (values: ReadonlyMap<string, unknown>) => {
    const told = Object.fromEntries(names.map(name => [name, values.get(name) ?? null]))
    return JSON.stringify(told).length <= maxLength ? told : { 'too long to tell': names.slice(0, 100) }
  }
  return { changes: { before: before && side(was), after: after && side(is) } }
}

/** With a member for each field of metadata, such as `metadata.dc.title`. */
function flat(values: Values): ReadonlyMap<string, unknown> {
  return new Map(
    Object.entries(values).flatMap(([name, value]) =>
      name === 'metadata' && typeof value === 'object' && value !== null
        ? Object.entries(value).map(([field, list]): [string, unknown] => [`metadata.${field}`, list])
        : [[name, value] as [string, unknown]],
    ),
  )
}
