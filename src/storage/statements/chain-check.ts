import { type EventRow, eventHash, nothingBefore, type SignedHead, type TrailKey } from '../../model/trail.ts'

/** Names something that is not as it was written, by the id and time of its event. */
export type Blame = (event: number | null, time: string | null, problem: string) => void

/** Where the check of a chain has got to. */
export class ChainCheck {
  readonly number: number
  place: number
  readonly #keys: TrailKey[]
  readonly #blame: Blame
  /** Possible hashes of the event before; none: unknown. The second one is the right one. */
  #before: readonly Uint8Array[]

  constructor(number: number, start: SignedHead | undefined, keys: readonly TrailKey[], blame: Blame) {
    this.number = number
    this.place = start?.place ?? 0
    this.#before = [start?.hash ?? nothingBefore].filter(isHash)
    this.#keys = [...keys]
    this.#blame = blame
  }

  check(event: EventRow & { readonly id: number; readonly hash: Uint8Array }): void {
    const { id, time, place, hash } = event
    const missing = place - this.place - 1
    if (missing < 0) {
      this.#blame(id, time, 'its place in its chain is taken: it was inserted or moved')
      return
    }
    if (missing > 0)
      this.#blame(
        id,
        time,
        missing === 1 ? 'the event before it is missing' : `${missing} events before it are missing`,
      )
    const before = missing === 0 ? this.#before : []
    const right = this.#keys.find(key => {
      const seal = key.seal(event)
      return before.some(one => isSame(eventHash(one, id, seal), hash))
    })
    if (missing === 0 && !right) this.#blame(id, time, 'it was changed, inserted or moved')
    const [newest] = this.#keys
    // Mostly the same key serves for the next one.
    if (right && right !== newest) this.#keys.sort((a, b) => Number(b === right) - Number(a === right))
    const expected = right
      ? []
      : before.flatMap(one => this.#keys.map(key => eventHash(one, id, key.seal(event))))
    this.#before = [hash, ...expected.slice(0, maxExpected)].filter(isHash)
    this.place = place
  }
}
/** Maximum number of hashes that are tried for an event whose hash is wrong. */
const maxExpected = 8

const isHash = (bytes: Uint8Array): boolean => bytes.length === nothingBefore.length

export const isSame = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0
