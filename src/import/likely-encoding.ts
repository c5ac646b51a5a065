/** Encodings of files that don't declare one, likelier ones first. */
const candidates = [
  { encoding: 'windows-1252', name: 'Windows-1252' },
  { encoding: 'macintosh', name: 'Mac Roman' },
] as const

/**
 * An encoding in which bytes that aren't UTF-8 read well, and the word around the first
 * such byte in that encoding.
 */
export interface Likely {
  readonly encoding: (typeof candidates)[number]['encoding']
  readonly name: string
  readonly word: string
}

/** Number of bytes that are examined before the first wrong byte and after it. */
const window = 64 * 1024
/** Maximum characters shown of a word, before the wrong byte and after it. */
const maxWord = 40

/**
 * Guesses the encoding of bytes that aren't all UTF-8.
 * @param bad offset of the first byte that isn't UTF-8
 * @returns `utf-8` if most of the text is UTF-8; undefined if no encoding fits
 */
export function likelyEncoding(bytes: Buffer, bad: number): Likely | 'utf-8' | undefined {
  const sample = bytes.subarray(Math.max(0, bad - window), bad + window)
  const text = sample.toString()
  const damaged = text.match(/\ufffd/g)?.length ?? 0
  const whole = text.match(/[\u0080-\ufffc\u{10000}-\u{10ffff}]/gu)?.length ?? 0
  if (whole >= damaged) return 'utf-8'
  for (const one of candidates) {
    const decoded = new TextDecoder(one.encoding).decode(sample)
    if (!readsWell(decoded)) continue
    // Each byte is a single character in these encodings.
    const at = Math.min(bad, window)
    const before = /[^\s,;|"]*$/.exec(decoded.slice(0, at))?.[0] ?? ''
    const after = /^[^\s,;|"]*/.exec(decoded.slice(at))?.[0] ?? ''
    return { ...one, word: before.slice(-maxWord) + after.slice(0, maxWord) }
  }
  return undefined
}

/** Minimum share of the non-ASCII characters that must be in places typical for them. */
const leastGood = 0.95

/**
 * True if accented letters are in words and punctuation is between words, as in Western European languages.
 */
function readsWell(text: string): boolean {
  let good = 0
  let all = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character <= '\x7f') continue
    all++
    if (fits(text[at - 1] ?? ' ', character, text[at + 1] ?? ' ', text[at + 2] ?? ' ')) good++
  }
  return all > 0 && good >= leastGood * all
}

const isLetter = (character: string) => /^\p{L}$/u.test(character)
const isUpper = (character: string) => /^\p{Lu}$/u.test(character)
const isLower = (character: string) => /^\p{Ll}$/u.test(character)

function fits(before: string, character: string, after: string, next: string): boolean {
  if (isLetter(character) && !/[ªºƒ]/.test(character)) {
    // Three non-ASCII letters in a row indicate another alphabet.
    if ([before, after].every(one => one > '\x7f' && isLetter(one))) return false
    if (after > '\x7f' && next > '\x7f' && isLetter(after) && isLetter(next)) return false
    return !(isUpper(character) && isLower(before))
  }
  if (/[‘’'´`]/.test(character)) return true
  if (/[\u00a0“”„‚\u00ab\u00bb‹›–—…•·¡¿§©®™°²³ªº½¼¾€£±×†]/.test(character))
    return !(isLetter(before) && isLetter(after) && !/[–—·…\u00a0]/.test(character))
  return false
}
