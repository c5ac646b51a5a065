import { readAt } from '../lib/files-at.ts'
import { numberText, parseWritten } from '../lib/json.ts'
import { type Batch, noCode, type Run, readRun } from './batches.ts'
import { lineOf } from './check-key.ts'
import type { RunRanks } from './merge.ts'
import { noForm, plainForm, severalForms } from './number-forms.ts'
import { recordsIn } from './ordered-records.ts'

/** Different texts of a field that became equal numbers (docs/decisions/0063). */

interface Place {
  readonly run: number
  readonly code: number
}

/** Two places at which a number has different texts. They may be the same place. */
type Pair = readonly [first: Place, again: Place]

/** @returns two places of a number with several texts; undefined if each number has a single text */
export function differentTexts(runs: readonly Run[], ranks: RunRanks): Pair | undefined {
  if (runs.every(({ forms }) => forms < 0)) return undefined
  const known = new Uint32Array(ranks.distinct).fill(noForm)
  const metIn = new Uint32Array(ranks.distinct)
  for (const [run, { descriptor, size, forms: position }] of runs.entries()) {
    const forms = new Uint32Array(size).fill(plainForm)
    if (position >= 0) readAt(descriptor, forms, position)
    const ofRun = ranks.of(run)
    for (let code = 0; code < size; code++) {
      const rank = ofRun[code] as number
      const form = forms[code] as number
      if (form === noForm) continue
      if (form === severalForms)
        return [
          { run, code },
          { run, code },
        ]
      if (known[rank] === noForm) {
        known[rank] = form
        metIn[rank] = run
      } else if (known[rank] !== form) {
        const first = metIn[rank] as number
        return [
          { run: first, code: ranks.of(first).indexOf(rank) },
          { run, code },
        ]
      }
    }
  }
  return undefined
}

/** A line, and the text of a number on it. */
interface WrittenNumber {
  readonly line: number
  readonly text: string
}

/** Two lines on which the same number is written differently. */
export interface Digits extends WrittenNumber {
  readonly earlier: WrittenNumber
}

/** Maximum characters of a number in a report. */
const maxShown = 60

/**
 * Reads the two texts.
 * @param places the batches, each with the index of the field and the code of the number in it
 */
export function digitsAt(
  name: string,
  places: readonly { readonly batch: Batch; readonly field: number; readonly code: number }[],
): Digits | undefined {
  let earlier: WrittenNumber | undefined
  for (const { batch, field, code } of places) {
    const codes = new Uint16Array(batch.count).fill(noCode)
    readAt(batch.descriptor, codes, readRun(batch, field).codes)
    const records = recordsIn(batch)
    for (let n = codes.indexOf(code); n >= 0; n = codes.indexOf(code, n + 1)) {
      const record = parseWritten(records[n] as string) as Readonly<Record<string, unknown>>
      const text = numberText(record[name])
      if (text === undefined || text === earlier?.text) continue
      const found = { line: lineOf(batch, n), text }
      if (earlier) return { ...shortened(found), earlier: shortened(earlier) }
      earlier = found
    }
  }
  return undefined
}

const shortened = ({ line, text }: WrittenNumber): WrittenNumber => ({
  line,
  text: text.length > maxShown ? `${text.slice(0, maxShown)}…` : text,
})
