/**
 * The words of a text (Q27, docs/decisions/0038). PostgreSQL can do every step, too. A change here must also
 * be made in src/storage/postgres/text-search.ts.
 */

/** Inclusive ranges of code points. */
type Ranges = readonly (readonly [from: number, to: number])[]

/** Characters ignored in words: diacritics, vowel points, and characters that only direct the display. */
export const unread: Ranges = [
  [0x00ad, 0x00ad],
  [0x0300, 0x036f],
  [0x0483, 0x0489],
  [0x0591, 0x05bd],
  [0x05bf, 0x05bf],
  [0x05c1, 0x05c2],
  [0x05c4, 0x05c5],
  [0x05c7, 0x05c7],
  [0x0610, 0x061a],
  [0x061c, 0x061c],
  [0x0640, 0x0640],
  [0x064b, 0x065f],
  [0x0670, 0x0670],
  [0x1ab0, 0x1aff],
  [0x1dc0, 0x1dff],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x2064],
  [0x20d0, 0x20ff],
  [0xfe00, 0xfe0f],
  [0xfe20, 0xfe2f],
  [0xfeff, 0xfeff],
]

/**
 * Scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana and Han. Each of their
 * characters counts as a word.
 */
export const single: Ranges = [
  [0x0e00, 0x0eff],
  [0x1000, 0x109f],
  [0x1780, 0x17ff],
  [0x3040, 0x30ff],
  [0x31f0, 0x31ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xf900, 0xfaff],
  [0x1_aff0, 0x1_b16f],
  [0x2_0000, 0x3_ffff],
]

/** Lower-case letters without a decomposition, and the letters that replace them. */
export const letters = {
  one: [
    ['ς', 'σ'],
    ['ø', 'o'],
    ['ł', 'l'],
    ['đ', 'd'],
    ['ð', 'd'],
    ['ħ', 'h'],
    ['ŧ', 't'],
    ['ı', 'i'],
  ],
  two: [
    ['ß', 'ss'],
    ['æ', 'ae'],
    ['œ', 'oe'],
    ['þ', 'th'],
  ],
} as const

/** Characters of words. PostgreSQL uses the same ones, whatever its version of Unicode. */
export const wordCharacter = /[\p{L}\p{N}\p{M}]/u

const classOf = (ranges: Ranges) =>
  ranges.map(([from, to]) => `\\u{${from.toString(16)}}-\\u{${to.toString(16)}}`).join('')

const isAscii = /^\p{ASCII}*$/u
const betweenAscii = /[^0-9a-z]+/g
const allUnread = new RegExp(`[${classOf(unread)}]+`, 'gu')
const eachSingle = new RegExp(`[${classOf(single)}]`, 'gu')
const between = /[^\p{L}\p{N}\p{M}]+/gu
const readings = new Map<string, string>([...letters.one, ...letters.two])
const eachLetter = new RegExp(`[${[...readings.keys()].join('')}]`, 'g')

/** Returns the words in order, each between two blanks of its own: ` sea  side `. */
export function spacedWords(text: string): string {
  const words = isAscii.test(text)
    ? text.toLowerCase().replaceAll(betweenAscii, '  ')
    : read(text).replaceAll(eachSingle, ' $& ').replaceAll(between, '  ')
  return ` ${words.trim()} `
}

/** Normalizes the characters of a text as in words, and keeps everything between words. */
const read = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(allUnread, '')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(eachLetter, letter => readings.get(letter) ?? letter)

export const wordsOf = (text: string): string[] => {
  const words = spacedWords(text).trim()
  return words === '' ? [] : words.split('  ')
}

/** A word and its position in the text. */
export interface PlacedWord {
  readonly word: string
  readonly from: number
  readonly end: number
}

/**
 * Character clusters that are normalized together: a character with the characters that modify it, or a run
 * of Korean letters, which form syllables. A cluster on its own gives the same result as within the text.
 */
const korean = '\\u1100-\\u11ff\\u3131-\\u318e\\u3200-\\u321e\\u3260-\\u327e\\uac00-\\ud7a3\\uffa0-\\uffdc'
const changes = '\\p{M}\\p{Cf}\\u0640\\uff9e\\uff9f'
const clusters = new RegExp(`[${korean}][${korean}${changes}]*|.[${changes}]*`, 'gsu')
const isSingle = new RegExp(`^[${classOf(single)}]$`, 'u')

/** Returns the words of a text with their positions. */
export function placedWords(text: string): PlacedWord[] {
  const words: PlacedWord[] = []
  let current: { word: string; from: number; end: number } | undefined
  const finish = () => {
    if (current) words.push(current)
    current = undefined
  }
  for (const { 0: cluster, index: from } of text.matchAll(clusters)) {
    const end = from + cluster.length
    for (const character of read(cluster)) {
      if (!wordCharacter.test(character)) finish()
      else if (isSingle.test(character)) {
        finish()
        words.push({ word: character, from, end })
      } else {
        current ??= { word: '', from, end }
        current.word += character
        current.end = end
      }
    }
  }
  finish()
  return words
}
