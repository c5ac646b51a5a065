import { readAt } from '../lib/files-at.ts'
import { markedNumber, markedText } from '../lib/sort-keys.ts'
import { type Run, runKinds } from './batches.ts'

/** Bytes of all runs together that are read ahead. */
const readAhead = 2 * 1024 * 1024
const leastAhead = 4 * 1024

/** A key that sorts after every binary text. */
export const behindAll = '\u0100'

/** Reads the values of a run in order, as binary texts. */
export class RunCursor {
  readonly #run: Run
  /** True if the keys have the marks of their kinds. */
  readonly #marked: boolean
  readonly #windowBytes: number
  #keys: readonly string[] = []
  #at = 0
  /** Positions, among the values, of the first key in the window and of the first one after it. */
  #from = 0
  #end = 0
  #position: number

  /** @param runs number of runs, which share the memory */
  constructor(run: Run, marked: boolean, runs: number) {
    this.#run = run
    this.#marked = marked
    this.#windowBytes = Math.max(leastAhead, Math.floor(readAhead / runs))
    this.#position = run.values
    this.#fill()
  }

  get key(): string {
    return this.#keys[this.#at] ?? behindAll
  }

  get code(): number {
    const entry = this.#from + this.#at
    return this.#run.codeOf?.[entry] ?? entry
  }

  next(): void {
    if (++this.#at >= this.#keys.length) this.#fill()
  }

  #fill(): void {
    this.#from = this.#end
    this.#at = 0
    this.#keys = []
    const { descriptor, kind, size } = this.#run
    if (this.#from === size) return
    const { length, bytes } = this.#window(size - this.#from)
    const values = Buffer.alloc(bytes)
    readAt(descriptor, values, this.#position)
    this.#position += bytes
    this.#end += length.length
    if (kind === runKinds.numbers) {
      this.#keys = Array.from(new Float64Array(values.buffer, values.byteOffset, length.length), markedNumber)
      return
    }
    const keys: string[] = new Array(length.length)
    for (let at = 0, from = 0; at < keys.length; at++) {
      const end = from + (length[at] as number)
      const key = values.toString('latin1', from, end)
      keys[at] = this.#marked && kind !== runKinds.marked ? markedText(key) : key
      from = end
    }
    this.#keys = keys
  }

  /** @returns the lengths of the values to read next: at least one, and as many as fit into the memory */
  #window(left: number): { length: Uint32Array; bytes: number } {
    const { descriptor, kind, lengths } = this.#run
    const most = Math.min(left, Math.floor(this.#windowBytes / 8))
    if (kind === runKinds.numbers) return { length: new Uint32Array(most), bytes: most * 8 }
    const length = new Uint32Array(most)
    readAt(descriptor, length, lengths + this.#from * 4)
    let count = 0
    let bytes = 0
    while (count < most && (count === 0 || bytes + (length[count] as number) <= this.#windowBytes))
      bytes += length[count++] as number
    return { length: length.subarray(0, count), bytes }
  }
}
