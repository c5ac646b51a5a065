import { resolve } from 'node:path'

/** A path as it was typed: npm runs its scripts in the folder of package.json, and says where it was called. */
export const givenPath = (path: string): string =>
  process.env.npm_lifecycle_event === 'carrel' && process.env.INIT_CWD !== undefined
    ? resolve(process.env.INIT_CWD, path)
    : path

/** How the command line is called here: in a checkout through npm, else by its name. */
export const ownCommand = (): string =>
  process.env.npm_package_name === 'carrel' ? 'npm run --silent carrel --' : 'carrel'
