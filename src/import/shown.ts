/** Characters of a name or a value that a message shows. */
const maxShown = 60

/** A name or a value of a file in a message: it may be as long as the file. */
export function shown(value: unknown): string {
  const whole = typeof value === 'string' ? value : undefined
  const text =
    JSON.stringify(whole !== undefined && whole.length > maxShown ? `${whole.slice(0, maxShown)}…` : value) ??
    ''
  return whole === undefined && text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}
