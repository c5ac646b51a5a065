import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { failing, writeAt } from '../../lib/files-at.ts'
import { processIdInName } from '../../lib/process-ids.ts'
import { mayGoOn } from '../runtime/limits.ts'
import { merged } from './edits.ts'
import { openChanges } from './field-changes.ts'
import { headerLength, headerOf, markIn } from './stored-field.ts'
import { openWordList, type RevisedWords, wordKind } from './word-index.ts'

/** A name that tells others whether the program that writes the file has ended. */
export const temporaryName = (path: string): string =>
  `${path}.${randomBytes(4).toString('hex')}.${processIdInName()}`

/** Copies the file of a field, or of its words, to another version with the same values. @param path that the copy gets */
export function copyStored(from: string, path: string): void {
  const writing = temporaryName(path)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    // Shares blocks if the file system supports it.
    failing(() => copyFileSync(from, writing, constants.COPYFILE_FICLONE))
    const descriptor = openSync(writing, 'r+')
    try {
      const [mark, position] = markIn(path)
      writeAt(descriptor, mark, position)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(writing, path)
  } catch (error) {
    rmSync(writing, { force: true })
    throw error
  }
}

/**
 * Writes the file of an index.
 * @param parts the values of all words
 * @param rest returns the words and where the values of each start, once the values are written
 */
export function writeIndex(
  path: string,
  parts: Iterable<Uint32Array>,
  rest: () => { readonly words: readonly string[]; readonly starts: Uint32Array },
): void {
  const writing = temporaryName(path)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const descriptor = openSync(writing, 'wx', 0o600)
  try {
    let end = headerLength
    const append = (view: NodeJS.ArrayBufferView) => {
      const position = end
      end += writeAt(descriptor, view, position)
      return position
    }
    for (const part of parts) append(part)
    const { words, starts } = rest()
    const startPosition = append(starts)
    const wordStarts = new Uint32Array(words.length + 1)
    for (const [place, word] of words.entries())
      wordStarts[place + 1] = (wordStarts[place] as number) + Buffer.byteLength(word)
    const wordPosition = append(wordStarts)
    const text = append(Buffer.from(words.join('')))
    fsyncSync(descriptor)
    const numbers = [words.length, starts.at(-1) as number, headerLength, startPosition, wordPosition, text]
    writeAt(descriptor, headerOf(wordKind, path, [end, ...numbers]), 0)
    renameSync(writing, path)
  } catch (error) {
    rmSync(writing, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
}

/** Values that are written at a time. */
const partLength = 2 ** 16

/** Writes the words of a changed version to a file, from those of its base and those of the written values. */
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
        at.word === word ? values.keptOf(at.take()) : new Uint32Array(),
        next.word === word ? next.take().map(item => places[item] as number) : new Uint32Array(),
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
