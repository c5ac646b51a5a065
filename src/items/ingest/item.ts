import { hash } from 'node:crypto'
import {
  type Content,
  type KnownItem,
  type Metadata,
  maxReadersBytes,
  type NewBitstream,
  type NewItem,
} from '../../model/items.ts'
import { type Readers, readersText } from '../../model/readers.ts'
import { fingerprintWith, type Origin } from './origin.ts'
import { visible } from './similar-name.ts'

/** An item as its source describes it: checked, but its files are not read yet. */
export interface FoundItem extends Omit<NewItem, 'bitstreams'> {
  readonly origin: Origin
  readonly files: readonly FoundFile[]
}

export interface FoundFile extends Omit<NewBitstream, 'sha256'> {
  /** Path without links. */
  readonly path: string
  /** The folder, without links, in which the file must still be when it is read. */
  readonly folder: string
  /** The name in the source, if it had to be changed (`lib/file-name.ts`); null: it was not. */
  readonly given: string | null
  /** Modification time in milliseconds, with its fraction. */
  readonly modified: number
}

/** An item that can't be added. The message says why, and what would be right. */
export class BadItem extends Error {}

interface Described {
  readonly identifier: string
  readonly metadata: Metadata
  readonly collections: readonly string[]
  /** The readers; null if the source doesn't name any. */
  readonly readers: Readers | null
  readonly files: readonly FoundFile[]
  readonly origin: Origin
}

const maxIdentifierBytes = 500

/** Maximum numbers per item, because all files and collections are in memory at once, and in one transaction. */
export const maxFiles = 10_000
const maxCollections = 1_000

/** @throws BadItem for content that no store can keep, and for content that is most likely a mistake */
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
  return { ...described, fingerprint: fingerprintWith(fingerprintOf(described), described.origin) }
}

/** Returns a message for each file whose name differs from that in the source. */
export const renamedIn = ({ files }: FoundItem): string[] =>
  files.flatMap(({ given, name }) =>
    given === null ? [] : [`the file ${visible(given)} is called ${visible(name)}`],
  )

/**
 * Returns an item for the store, with the files that have been kept.
 * @param read readers for items without readers in the source
 */
export function toNewItem(
  { files, origin, ...item }: FoundItem,
  read: Readers | null,
  kept: ReadonlyMap<FoundFile, Content>,
  known: KnownItem | undefined,
): NewItem {
  return {
    ...item,
    ...(origin.identifier === 'made' && { seen: known?.fingerprint ?? null }),
    readers: item.readers ?? read,
    bitstreams: files.flatMap(file => {
      const { path: _, folder: __, modified: ___, given: ____, ...bitstream } = file
      const content = kept.get(file)
      return content ? [{ ...bitstream, ...content }] : []
    }),
  }
}

/**
 * Checks a list of files before they are looked up, because a long list may name one file again and again.
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
        `the bundle ${bundle} has two files named ${name}; rename one or put it into another bundle`,
      )
    names.add(both)
  }
}

/** @throws BadItem */
export function refuseTooMany(count: number, max: number, what: string): void {
  if (count > max) throw new BadItem(`it has more than ${max.toLocaleString('en')} ${what}`)
}

/** @throws BadItem for readers that no store can keep */
export function checkReaders(readers: Readers): void {
  if (Buffer.byteLength(readersText(readers)) > maxReadersBytes)
    throw new BadItem(
      `the rules for its readers, or for those of a file, take more than ${maxReadersBytes} bytes; put the readers into one group`,
    )
}

/**
 * Returns a hash of the source's description of an item. While it is unchanged, nothing needs to be read
 * again. `--read` isn't part of it: an ingest without that option finds the items unchanged (D7).
 */
function fingerprintOf({ files, origin: _, ...described }: Described): string {
  const made = files.map(({ path: __, folder: ___, given: ____, ...file }) => file)
  return hash('sha256', JSON.stringify([described, made]))
}

/** Checks that a text is one line, not empty and not too long. */
function checkLine(what: string, text: string): void {
  if (text === '') throw new BadItem(`${what} is empty`)
  if (/\p{Cc}/u.test(text)) throw new BadItem(`${what} contains a control character: ${JSON.stringify(text)}`)
  checkForm(what, text)
  if (Buffer.byteLength(text) > maxIdentifierBytes)
    throw new BadItem(`${what} is longer than ${maxIdentifierBytes} bytes: ${text.slice(0, 50)}…`)
}

/** Checks a text. Line ends and tabs are allowed; other control characters are most likely a mistake. */
function checkText(what: string, text: string): void {
  const found = /[^\P{Cc}\t\n\r\x80-\x9f]/u.exec(text)
  if (found) throw new BadItem(`${what} contains a control character: ${JSON.stringify(found[0])}`)
  checkForm(what, text)
}

function checkForm(what: string, text: string): void {
  if (!text.isWellFormed())
    throw new BadItem(`${what} contains half a surrogate pair, which is not valid Unicode`)
}
