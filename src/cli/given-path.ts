import { resolve } from 'node:path'

/** A path relative to where the user typed it. npm runs scripts in the folder of package.json, and sets INIT_CWD. */
export const givenPath = (path: string): string =>
  process.env.npm_lifecycle_event === 'carrel' && process.env.INIT_CWD !== undefined
    ? resolve(process.env.INIT_CWD, path)
    : path

/** How the command line is called here: in a checkout through npm, else by its name. */
export const ownCommand = (): string =>
  process.env.npm_package_name === 'carrel' ? 'npm run --silent carrel --' : 'carrel'
