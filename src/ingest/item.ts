import { hash } from 'node:crypto'
import { type Metadata, maxReadersBytes, type NewBitstream, type NewItem } from '../model/items.ts'
import { type Readers, readersText } from '../model/readers.ts'
import { visible } from './similar-name.ts'

/** An item as its source describes it: all is checked, and no file was read yet. */
export interface FoundItem extends Omit<NewItem, 'bitstreams'> {
  readonly files: readonly FoundFile[]
}

export interface FoundFile extends Omit<NewBitstream, 'sha256'> {
  /** Where it is, without links. */
  readonly path: string
  /** It must be in there still when it is read. Without links. */
  readonly folder: string
  /** Milliseconds, with their fraction: of a file that is the same, this is the same. */
  readonly modified: number
}

/** This item can't go in; the message says why and what would help. The others can. */
export class BadItem extends Error {}

interface Described {
  readonly identifier: string
  readonly metadata: Metadata
  readonly collections: readonly string[]
  /** null: the source doesn't say. */
  readonly readers: Readers | null
  readonly files: readonly FoundFile[]
}

const maxIdentifierBytes = 500

/** Of one item: all of them are in memory at once, and in one transaction. */
export const maxFiles = 10_000
const maxCollections = 1_000

/** @throws BadItem for what can't be stored, or only in a way that surprises later */
export function toItem(described: Described): FoundItem {
  const { identifier, metadata, collections, readers, files } = described
  checkLine('the identifier', identifier)
  if (identifier !== identifier.trim())
    throw new BadItem(
      `the identifier ${visible(identifier)} begins or ends with white space; rename the folder, or write a handle`,
    )
  refuseTooMany(collections.length, maxCollections, 'collections')
  for (const one of collections) checkLine('a collection', one)
  for (const [key, values] of Object.entries(metadata))
    for (const { value, language } of values) {
      checkText(key, value)
      if (language !== null) checkLine(`the language of ${key}`, language)
    }
  if (readers !== null) checkReaders(readers)
  for (const file of files) if (file.readers !== null) checkReaders(file.readers)
  return { ...described, fingerprint: fingerprintOf(described) }
}

/**
 * What is said of an item's files, before the first of them is looked for: a list may be long, and name nothing but one
 * file again and again.
 * @throws BadItem
 */
export function checkFiles(files: readonly Pick<NewBitstream, 'name' | 'bundle' | 'description'>[]): void {
  refuseTooMany(files.length, maxFiles, 'files')
  const names = new Set<string>()
  for (const { name, bundle, description } of files) {
    checkLine('the name of a file', name)
    checkLine('a bundle', bundle)
    if (description !== null) checkText('a description', description)
    const both = JSON.stringify([bundle, name])
    if (names.has(both))
      throw new BadItem(
        `two files of the bundle ${bundle} are called ${name}; rename one, or name another bundle`,
      )
    names.add(both)
  }
}

/** @throws BadItem */
export function refuseTooMany(count: number, most: number, what: string): void {
  if (count > most) throw new BadItem(`it has more than ${most.toLocaleString('en')} ${what}`)
}

/** @throws BadItem for readers that no store can keep */
export function checkReaders(readers: Readers): void {
  if (Buffer.byteLength(readersText(readers)) > maxReadersBytes)
    throw new BadItem(
      `who may read it, or one of its files, takes more than ${maxReadersBytes} bytes to say; make a group of them`,
    )
}

/**
 * What the source says of the item: when this is the same, nothing needs to be read again. `--read` is no part of it: an
 * ingest that doesn't repeat the option finds the items unchanged (D7).
 */
function fingerprintOf({ files, ...described }: Described): string {
  const made = files.map(({ path: _, folder: __, ...file }) => file)
  return hash('sha256', JSON.stringify([described, made]))
}

/** One line of text, not empty and not long. */
function checkLine(what: string, text: string): void {
  if (text === '') throw new BadItem(`${what} is empty`)
  if (/\p{Cc}/u.test(text)) throw new BadItem(`${what} has a control character: ${JSON.stringify(text)}`)
  checkForm(what, text)
  if (Buffer.byteLength(text) > maxIdentifierBytes)
    throw new BadItem(`${what} is longer than ${maxIdentifierBytes} bytes: ${text.slice(0, 50)}…`)
}

/** Lines ends and tabs are text, other control characters are an accident. */
function checkText(what: string, text: string): void {
  const found = /[^\P{Cc}\t\n\r\x80-\x9f]/u.exec(text)
  if (found) throw new BadItem(`${what} has a control character: ${JSON.stringify(found[0])}`)
  checkForm(what, text)
}

function checkForm(what: string, text: string): void {
  if (!text.isWellFormed()) throw new BadItem(`${what} has half of a surrogate pair: no text has that`)
}
