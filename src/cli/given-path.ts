import { resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { type FilesPlace, filesPlace, isFilesPlace, placesTaken } from '../config/files-place.ts'
import { Misuse } from './failures.ts'

/**
 * Resolves a path from where the user typed it. npm runs scripts in the folder of package.json, and sets
 * INIT_CWD.
 */
export const givenPath = (path: string): string =>
  process.env.npm_lifecycle_event === 'carrel' && process.env.INIT_CWD !== undefined
    ? resolve(process.env.INIT_CWD, path)
    : path

/** Reads a folder, or a bucket as s3://bucket/prefix. @throws Misuse */
export function givenPlace(text: string, { bucketServer }: Pick<Config, 'bucketServer'>): FilesPlace {
  if (!isFilesPlace(text)) throw new Misuse(`${JSON.stringify(text)} is not a place; it takes ${placesTaken}`)
  return filesPlace(text.startsWith('s3:') ? text : givenPath(text), bucketServer)
}

/** Returns the words that call the command line here: npm's in a checkout, else its name. */
export const ownCommand = (): string =>
  process.env.npm_package_name === 'carrel' ? 'npm run --silent carrel --' : 'carrel'
