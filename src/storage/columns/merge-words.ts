import { mayGoOn } from '../runtime/limits.ts'
import { merged } from './edited.ts'
import { openChanges } from './revised-field.ts'
import { writeIndex } from './word-file.ts'
import { openWordList, type RevisedWords } from './word-index.ts'

/** Values that are written at a time. */
const partLength = 2 ** 16

/**
 * Writes the words of a changed version to a file, from those of its base and those of the written values.
 */
export function mergeWords(path: string, { base, written, field }: RevisedWords): void {
  const [before, added] = [openWordList(base), openWordList(written)]
  const { values } = openChanges(field)
  const places = values.places()
  const words: string[] = []
  const starts = [0]

  function* parts(): Iterable<Uint32Array> {
    const part = new Uint32Array(partLength)
    let length = 0
    const [at, next] = [cursorOf(before), cursorOf(added)]
    while (at.word !== undefined || next.word !== undefined) {
      if ((words.length & 0xff) === 0) mayGoOn()
      const isBefore = next.word === undefined || (at.word !== undefined && at.word <= next.word)
      const word = (isBefore ? at.word : next.word) as string
      const found = merged(
        at.word === word ? values.keptOf(at.take()) : none,
        next.word === word ? next.take().map(item => places[item] as number) : none,
      )
      if (found.length === 0) continue
      if (length + found.length > partLength) {
        yield part.subarray(0, length)
        length = 0
      }
      if (found.length > partLength) yield found
      else part.set(found, length)
      length += found.length > partLength ? 0 : found.length
      words.push(word)
      starts.push((starts.at(-1) as number) + found.length)
    }
    yield part.subarray(0, length)
  }

  writeIndex(path, parts(), () => ({ words, starts: Uint32Array.from(starts) }))
}

const none = new Uint32Array()

function cursorOf({ length, wordAt, valuesOf }: ReturnType<typeof openWordList>) {
  let place = 0
  const cursor = {
    /** undefined at the end. */
    word: length > 0 ? wordAt(0) : undefined,
    /** Returns the values of the word, and goes to the next. */
    take: (): Uint32Array => {
      const taken = valuesOf(place, ++place)
      cursor.word = place < length ? wordAt(place) : undefined
      return taken
    },
  }
  return cursor
}
