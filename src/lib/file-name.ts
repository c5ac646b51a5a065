interface FileName {
  /** The safe name; '' if nothing is left. */
  readonly name: string
  readonly isChanged: boolean
}

/** Names that Windows reserves for devices, with any extension. */
const device = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i

/**
 * Controls, line and paragraph separators, and characters that only change the appearance of others, such as
 * U+202E, which shows `gpj.exe` as `exe.jpg`. ZWNJ and ZWJ, which join letters of some scripts, are allowed.
 */
const unseen = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu

/**
 * Makes a file name from elsewhere safe to show and to save: it removes folders and invisible characters, and
 * changes names that a system reserves. It is used for all file names, however they arrive.
 */
export function fileName(text: string): FileName {
  const last = text.toWellFormed().split(/[/\\]/).at(-1) ?? ''
  const seen = last.replaceAll(unseen, '').trim()
  const some = /^\.*$/.test(seen) ? '' : seen
  const name = device.test(some) ? `_${some}` : some
  return { name, isChanged: name !== text }
}

/** Makes a file name safe that may be missing. @returns null if it is missing or nothing is left of it */
export const nameOrNull = (text: string | null | undefined): string | null =>
  fileName(text ?? '').name || null
