import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { writeAt } from '../../lib/files-at.ts'
import { processIdInName } from '../../lib/process-ids.ts'
import { headerLength, headerOf } from './stored-field.ts'
import { wordKind } from './word-index.ts'

/** A name that tells others whether the program that writes the file has ended. */
export const temporaryName = (path: string): string =>
  `${path}.${randomBytes(4).toString('hex')}.${processIdInName()}`

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
