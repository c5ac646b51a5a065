import { readFileSync } from 'node:fs'

/** From package.json, two folders up both in the sources and in what is published. */
export const version: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version
