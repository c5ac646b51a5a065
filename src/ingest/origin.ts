import { hash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { ImportError } from '../import/import-error.ts'
import type { KnownItem } from '../model/items.ts'

/**
 * What makes a source the same (docs/decisions/0059). An identifier that the source gives, or whose beginning somebody has
 * given (`--name`), means the item that has it. One that is made of the names of folders is a guess: it means an item from
 * the very same folder, or one that is described in the same way, and no other.
 */
export interface Origin {
  readonly identifier: 'given' | 'made'
  /** The item's folder as `folderMark` has it; null where it can't be the same again, such as in an archive. */
  readonly folder: string | null
}

/** How items without a handle are called. */
export interface Naming {
  /** The first part of their identifiers. */
  readonly name: string
  /** Somebody has said so; it isn't the name of a folder or a file. */
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

/** @param nameIs how somebody says the name of a source */
export function otherItem(where: string, identifier: string, nameIs: (name: string) => string): ImportError {
  const name = identifier.split('/')[0] ?? ''
  return new ImportError(
    `${where}: there is an item ${identifier} already, with another description, and not from this folder. Its identifier is made of ` +
      'names, because it has no file handle: it may be another item. Nothing was changed, and nothing after it was read. If this ' +
      `is another source, give it a name of its own, such as ${nameIs(`${name}-2`)}; if it is the same one, say so: ${nameIs(name)}`,
  )
}
