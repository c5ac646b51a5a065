import { resolve } from 'node:path'

/**
 * Resolves a path from where the user typed it. npm runs scripts in the folder of package.json, and sets
 * INIT_CWD.
 */
export const givenPath = (path: string): string =>
  process.env.npm_lifecycle_event === 'carrel' && process.env.INIT_CWD !== undefined
    ? resolve(process.env.INIT_CWD, path)
    : path

/** Returns the words that call the command line here: npm's in a checkout, else its name. */
export const ownCommand = (): string =>
  process.env.npm_package_name === 'carrel' ? 'npm run --silent carrel --' : 'carrel'
