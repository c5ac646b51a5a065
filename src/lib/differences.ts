import { isDeepStrictEqual } from 'node:util'

type Values = Readonly<Record<string, unknown>>
type Side = Record<string, unknown> | null

/**
 * Only the members that differ, before and after; one that is missing is null. null: there was, or is, nothing.
 * @param isSame compares two members, of which one may be undefined
 */
export function differences(
  before: object | null,
  after: object | null,
  isSame: (one: unknown, other: unknown) => boolean = isDeepStrictEqual,
): { before: Side; after: Side } {
  const [was, is] = [before, after] as [Values | null, Values | null]
  const names = Object.keys({ ...was, ...is }).filter(name => !isSame(was?.[name], is?.[name]))
  const pick = (from: Values | null) =>
    from && Object.fromEntries(names.map(name => [name, from[name] ?? null]))
  return { before: pick(was), after: pick(is) }
}
