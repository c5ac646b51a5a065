/** Characters that may separate the cells of a table, and their names. */
const names = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'vertical bar' } as const

export type Delimiter = keyof typeof names

/** The delimiters, likelier ones first. */
export const delimiters: readonly Delimiter[] = [',', ';', '\t', '|']

export const nameOf = (delimiter: Delimiter): string => names[delimiter]

/** Words for delimiters on the command line and in addresses, where some characters have to be escaped. */
const words: Readonly<Record<string, Delimiter>> = {
  comma: ',',
  semicolon: ';',
  tab: '\t',
  '\\t': '\t',
  pipe: '|',
}

export const delimiterWords = ['comma', 'semicolon', 'tab', 'pipe'] as const

export const delimiterIn = (text: string): Delimiter | undefined =>
  delimiters.find(one => one === text) ?? (Object.hasOwn(words, text) ? words[text] : undefined)
