/** Writes a text without accents, in lower case. */
export const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[đħıłø]/g, letter => strokes[letter] ?? letter)

/** Letters that Unicode takes for letters of their own. */
const strokes: Readonly<Record<string, string>> = { đ: 'd', ħ: 'h', ı: 'i', ł: 'l', ø: 'o' }

/** Latin letters with accents (U+00C0 to U+024F), by the letter without. */
const accented = Map.groupBy(
  Array.from({ length: 0x24f - 0xc0 + 1 }, (_, at) => String.fromCodePoint(0xc0 + at)).filter(
    letter => plain(letter).length === 1 && plain(letter) !== letter.toLowerCase(),
  ),
  plain,
)

/** Returns a regular expression of the service that finds a word whatever its case and accents are. */
export const expressionFor = (word: string): string => {
  const letters = [...plain(word)].map(letter => {
    const others = accented.get(letter)
    const escaped = letter.replace(/[\\.+*?()|[\]{}^$]/, '\\$&')
    return others ? `[${letter}${others.join('')}]\\p{M}*` : escaped
  })
  return `(?i)${letters.join('')}`
}
