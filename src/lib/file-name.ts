export interface FileName {
  /** '' where nothing is left. */
  readonly name: string
  readonly isChanged: boolean
}

/** Names that Windows reserves for devices, with any extension. */
const device = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i

/**
 * Controls, line and paragraph separators, and characters that only change how others look, such as U+202E, which shows
 * `gpj.exe` as `exe.jpg`. Two of them join letters of some scripts (ZWNJ and ZWJ), and stay.
 */
const unseen = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu

/**
 * Makes a file name from elsewhere safe to show and to save: it removes folders and invisible characters, and changes names
 * that a system reserves. This is the only place that does so, however the name arrives.
 */
export function fileName(text: string): FileName {
  const last = text.toWellFormed().split(/[/\\]/).at(-1) ?? ''
  const seen = last.replaceAll(unseen, '').trim()
  const some = /^\.*$/.test(seen) ? '' : seen
  const name = device.test(some) ? `_${some}` : some
  return { name, isChanged: name !== text }
}

/** Does the same for a name that may be missing. */
export const nameOrNull = (text: string | null | undefined): string | null =>
  fileName(text ?? '').name || null
