/** What differs between two objects of the same kind: only those members, before and after. */
export function differences<T extends object>(before: T | undefined, after: T) {
  const names = Object.keys(after).filter(
    name => before === undefined || before[name as keyof T] !== after[name as keyof T],
  )
  const pick = (from: T) => Object.fromEntries(names.map(name => [name, from[name as keyof T]]))
  return { before: before === undefined ? null : pick(before), after: pick(after) }
}
