/**
 * Returns a function that computes a value from an object once, and keeps it for as long as the object lives.
 */
export function memo<Of extends object, Made>(make: (of: Of) => Made): (of: Of) => Made {
  const kept = new WeakMap<Of, Made>()
  return of => {
    let made = kept.get(of)
    if (made === undefined) {
      made = make(of)
      kept.set(of, made)
    }
    return made
  }
}
