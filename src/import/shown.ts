/** Maximum characters of a name or a value that a message shows. */
const maxShown = 60

/** Returns a name or a value from a file for a message. It is cut, because it may be as long as the file. */
export function shown(value: unknown): string {
  const whole = typeof value === 'string' ? value : undefined
  const text =
    JSON.stringify(whole !== undefined && whole.length > maxShown ? `${whole.slice(0, maxShown)}…` : value) ??
    ''
  return whole === undefined && text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}
