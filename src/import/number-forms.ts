/**
 * Tells the texts of a number apart (docs/decisions/0063): for each distinct number of a batch, its *form* says with which
 * text it was written. Only fields with unusual texts have forms.
 */

/** The form of a number that is written as JavaScript prints it. */
export const plainForm = 0
/** The form of a number that has several texts. */
export const severalForms = 0x3fff_ffff
/** Marks a value without a form. */
export const noForm = 0xffff_ffff

/** Forms of different texts differ, but for one pair in a thousand million. @param text as JavaScript wouldn't print it */
function formOf(text: string): number {
  // FNV-1a.
  let hash = 0x811c_9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  return 1 + ((hash >>> 2) % (severalForms - 1))
}

/** The forms of the values of a batch, by the number of each. */
export class NumberForms {
  readonly #forms: number[]

  /** @param met how many values were met before, none of them in an unusual text */
  constructor(met: number) {
    this.#forms = Array<number>(met).fill(plainForm)
  }

  /** @param text undefined: as JavaScript prints the number */
  add(code: number, text?: string): void {
    const form = text === undefined ? plainForm : formOf(text)
    const known = this.#forms
    // Values of other kinds, which have no forms, may have been met since.
    while (known.length < code) known.push(plainForm)
    known[code] = code < known.length ? both(known[code] as number, form) : form
  }

  /**
   * The forms of the distinct values.
   * @param places for each number of a value, its position among them
   */
  inOrder(places: Uint16Array, size: number): Uint32Array {
    const found = new Uint32Array(size).fill(noForm)
    for (let code = 0; code < this.#forms.length; code++) {
      const form = this.#forms[code] as number
      const place = places[code] as number
      found[place] = found[place] === noForm ? form : both(found[place] as number, form)
    }
    return found
  }
}

const both = (one: number, other: number): number => (one === other ? one : severalForms)
