import { WrongAnswer } from '../lib/errors.ts'

/** A page of a list, in the order of its keys. */
interface Page<Entry, Marker> {
  readonly entries: readonly Entry[]
  /** True if more pages follow; undefined if the answer isn't a page. */
  readonly isTruncated: boolean | undefined
  readonly next: Marker | undefined
}

/** Number of pages in a row without a new key after which a list counts as endless. */
const maxIdle = 20

/**
 * Follows the pages of a list. Each costs its owner money, so it ends, whatever the server says: with an error if a page
 * doesn't say where the next one begins, or if further pages bring no further keys.
 * @param what the list, for errors
 */
export async function* pagesOf<Entry extends { readonly key: string }, Marker>(
  what: string,
  ask: (after: Marker | undefined) => Promise<Page<Entry, Marker>>,
): AsyncGenerator<readonly Entry[], void, undefined> {
  let last = ''
  let idle = 0
  for (let after: Marker | undefined; ; ) {
    const { entries, isTruncated, next } = await ask(after)
    if (isTruncated === undefined) throw new WrongAnswer(`${what}: the answer is no list`)
    yield entries
    if (!isTruncated) return
    if (next === undefined)
      throw new WrongAnswer(`${what}: a page says that more follows, but not where; the rest is not known`)
    const key = entries.at(-1)?.key ?? ''
    idle = key > last ? 0 : idle + 1
    if (key > last) last = key
    if (idle > maxIdle || JSON.stringify(next) === JSON.stringify(after))
      throw new WrongAnswer(`${what}: its pages repeat after ${JSON.stringify(last)}; the rest is not known`)
    after = next
  }
}
