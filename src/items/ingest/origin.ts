import { hash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { ImportError } from '../../import/import-error.ts'
import type { KnownItem } from '../../model/items.ts'

/**
 * The origin of an item's identifier, which decides when a source is the same (docs/decisions/0059). An identifier from
 * the source itself, or with a prefix from `--name`, denotes the existing item that has it. An identifier made of
 * folder names is a guess: it denotes only an item from the very same folder, or one with the same description.
 */
export interface Origin {
  readonly identifier: 'given' | 'made'
  /** The `folderMark` of the item's folder; null if the folder can't be the same again, such as in an archive. */
  readonly folder: string | null
}

/** The naming of items without a handle. */
export interface Naming {
  /** The first part of their identifiers. */
  readonly name: string
  /** True if the name was given by the user; false if it is the name of a folder or a file. */
  readonly isGiven: boolean
  /** True if the folder stays where it is, and may be ingested again. */
  readonly isKept: boolean
}

/** Returns a mark of a folder that changes if the folder is made again at the same place. */
export const folderMark = (path: string, { ino, birthtimeMs }: Stats): string =>
  hash('sha256', JSON.stringify([path, ino, birthtimeMs])).slice(0, 24)

const separator = '@'

/** @param description SHA-256 of the source's description of the item */
export const fingerprintWith = (description: string, { folder }: Origin): string =>
  folder === null ? description : `${description}${separator}${folder}`

/** True if two fingerprints are of the same description. */
export const isDescribedAlike = (a: string, b: string): boolean =>
  a.split(separator)[0] === b.split(separator)[0]

/** True if the existing item may be another one, so that it must not be changed. */
export function isOfAnother(
  { origin, fingerprint }: { readonly origin: Origin; readonly fingerprint: string },
  known: KnownItem | undefined,
): boolean {
  if (!known || origin.identifier === 'given' || isDescribedAlike(known.fingerprint, fingerprint))
    return false
  return origin.folder === null || known.fingerprint.split(separator)[1] !== origin.folder
}

/** @param nameIs returns the option or parameter that names a source, for the message */
export function otherItem(where: string, identifier: string, nameIs: (name: string) => string): ImportError {
  const name = identifier.split('/')[0] ?? ''
  return new ImportError(
    `${where}: there is an item ${identifier} already, with another description, and not from this folder. Its identifier is made of ` +
      'names, because it has no file handle: it may be another item. Nothing was changed, and nothing after it was read. If this ' +
      `is another source, give it a name of its own, such as ${nameIs(`${name}-2`)}; if it is the same one, say so: ${nameIs(name)}`,
  )
}
