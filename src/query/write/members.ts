/**
 * Adds or replaces a member, whatever it is called: assigning `__proto__` would change what the object
 * inherits.
 */
export function setMember(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}
