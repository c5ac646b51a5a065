export interface FileName {
  /** '' where nothing is left. */
  readonly name: string
  readonly isChanged: boolean
}

/** Of Windows: a file of such a name, whatever its ending, is a device there. */
const device = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i

/**
 * Controls, line and paragraph separators, and characters that only change how others look, such as U+202E, which shows
 * `gpj.exe` as `exe.jpg`. Two of them join letters of some scripts (ZWNJ and ZWJ), and stay.
 */
const unseen = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu

/**
 * What others call a file, as a name that is safe to show and to save: without folders, without characters that nobody sees,
 * and without what systems take for something else. The only place that decides so, however the name comes.
 */
export function fileName(text: string): FileName {
  const last = text.toWellFormed().split(/[/\\]/).at(-1) ?? ''
  const seen = last.replaceAll(unseen, '').trim()
  const some = /^\.*$/.test(seen) ? '' : seen
  const name = device.test(some) ? `_${some}` : some
  return { name, isChanged: name !== text }
}

/** The same of a name that may be missing. */
export const nameOrNull = (text: string | null | undefined): string | null =>
  fileName(text ?? '').name || null
