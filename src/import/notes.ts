import { readInstant } from '../lib/read-instant.ts'
import { shown } from './import-error.ts'
import { fieldValue, kindOf } from './types.ts'

/**
 * The key of records that no field tells apart. It is the number of the record in its file, from 1, so the same
 * file always gives the same numbers.
 */
export const rowNumber = '_row'

export const noteKinds = [
  ...(['quotes-are-text', 'rows-in-quotes', 'short-rows', 'rows-numbered'] as const),
  ...(['no-time', 'no-zone'] as const),
] as const

/** Something that was assumed about a file and that its user should know. */
export interface Note {
  readonly kind: (typeof noteKinds)[number]
  /** The field that it concerns; null: the file. */
  readonly field: string | null
  /** Number of rows or values. */
  readonly count: number
  /** The first line that shows it. */
  readonly line: number
  /** The value on this line. */
  readonly example?: string
}

export const numberedNote: Note = { kind: 'rows-numbered', field: rowNumber, count: 0, line: 1 }

/** Maximum number of notes, because a file may have very many fields. */
const maxNotes = 50

/** Adds up what is assumed about a file. */
export class Notes {
  readonly #all = new Map<string, Note>()

  add(note: Note): void {
    const name = `${note.kind} ${note.field}`
    const known = this.#all.get(name)
    const first = known && known.line <= note.line ? known : note
    this.#all.set(name, { ...first, count: note.count + (known?.count ?? 0) })
  }

  has(kind: Note['kind']): boolean {
    return this.#all.has(`${kind} null`)
  }

  /** Returns all notes, to add them to others, and forgets them. */
  takeAll(): readonly Note[] {
    const all = [...this.#all.values()]
    this.#all.clear()
    return all
  }

  /** Returns the first notes. */
  first(): readonly Note[] {
    return [...this.#all.values()].slice(0, maxNotes)
  }

  /** Returns the notes as a member of a report; no member if there are none. */
  found(): { readonly notes?: readonly Note[] } {
    const notes = this.first()
    return notes.length === 0 ? {} : { notes }
  }
}

/** Says in a sentence what was assumed. */
export function noteInWords({ kind, field, count, line, example = '' }: Note): string {
  const many = (what: string) => `${count.toLocaleString('en')} ${count === 1 ? what : `${what}s`}`
  const values = () => `${shown(field)}: ${many('value')} (first on line ${line}: ${shown(example)})`
  const have = count === 1 ? 'has' : 'have'
  const are = count === 1 ? 'is' : 'are'
  switch (kind) {
    case 'quotes-are-text':
      return `Line ${line}: as a quoted cell, this would take in the rows that follow, so double quotes are text here. Another file is looked at anew: \`--quote none\` or a recipe with \`"quote": "none"\` reads all alike, and \`--quote double\` reads quotes.`
    case 'rows-in-quotes':
      return `Line ${line}: a quoted cell holds a line break and what separates cells; if these are rows of their own, \`--quote none\` reads them so.`
    case 'short-rows':
      return `${many('row')} (first on line ${line}) ${count === 1 ? 'lacks' : 'lack'} cells at the end, which are empty.`
    case 'rows-numbered':
      return `The records are numbered in the order of the file, in ${shown(field)}; a file with other rows before a record gives it another number.`
    case 'no-time':
      return `${values()} ${have} no time of day and ${are} taken as the first instant, in UTC.`
    case 'no-zone':
      return `${values()} ${have} no time zone and ${are} taken as UTC.`
  }
}

/** Makes a date-time of the value of a field, if it is another form of time that queries take. */
export function completeTime(
  record: Readonly<Record<string, unknown>>,
  name: string,
  line: number,
  notes: Notes,
): void {
  const value = fieldValue(record, name)
  // Numbers may be years, seconds or milliseconds.
  if (typeof value !== 'string' || kindOf(value) === 'date-time') return
  const { text, lacks } = readInstant(value) ?? {}
  if (text === undefined) return
  ;(record as Record<string, unknown>)[name] = text
  if (lacks) notes.add({ kind: `no-${lacks}`, field: name, count: 1, line, example: value })
}
