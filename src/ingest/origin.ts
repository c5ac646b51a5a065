import { hash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { ImportError } from '../import/import-error.ts'
import type { KnownItem } from '../model/items.ts'

/**
 * The origin of an item's identifier, which decides when a source is the same (docs/decisions/0059). An identifier from the
 * source itself, or with a prefix from `--name`, denotes the item that has it. One that is made of folder names is a guess: it
 * denotes an item from the very same folder, or one with the same description, and no other.
 */
export interface Origin {
  readonly identifier: 'given' | 'made'
  /** The item's folder as `folderMark` has it; null where it can't be the same again, such as in an archive. */
  readonly folder: string | null
}

/** The naming of items without a handle. */
export interface Naming {
  /** The first part of their identifiers. */
  readonly name: string
  /** True if the name was given by the user; false if it is the name of a folder or a file. */
  readonly isGiven: boolean
  /** The folder stays where it is, and may be ingested again. */
  readonly isKept: boolean
}

/** A folder is the same if it was not made again at the same place. */
export const folderMark = (path: string, { ino, birthtimeMs }: Stats): string =>
  hash('sha256', JSON.stringify([path, ino, birthtimeMs])).slice(0, 24)

const separator = '@'

/** @param description the SHA-256 of what the source says of the item */
export const fingerprintWith = (description: string, { folder }: Origin): string =>
  folder === null ? description : `${description}${separator}${folder}`

/** The source says the same of both. */
export const isDescribedAlike = (a: string, b: string): boolean =>
  a.split(separator)[0] === b.split(separator)[0]

/** The item that is there may be another one, so it must not be changed. */
export function isOfAnother(
  { origin, fingerprint }: { readonly origin: Origin; readonly fingerprint: string },
  known: KnownItem | undefined,
): boolean {
  if (!known || origin.identifier === 'given' || isDescribedAlike(known.fingerprint, fingerprint))
    return false
  return origin.folder === null || known.fingerprint.split(separator)[1] !== origin.folder
}

/** @param nameIs makes the option or parameter that names a source, for the message */
export function otherItem(where: string, identifier: string, nameIs: (name: string) => string): ImportError {
  const name = identifier.split('/')[0] ?? ''
  return new ImportError(
    `${where}: there is an item ${identifier} already, with another description, and not from this folder. Its identifier is made of ` +
      'names, because it has no file handle: it may be another item. Nothing was changed, and nothing after it was read. If this ' +
      `is another source, give it a name of its own, such as ${nameIs(`${name}-2`)}; if it is the same one, say so: ${nameIs(name)}`,
  )
}
