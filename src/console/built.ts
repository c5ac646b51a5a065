import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { root } from '../lib/own-files.ts'
import { isMissing, unlessMissing } from '../lib/system-errors.ts'

/** The output of `console/build.js`: one page, and files whose names change with their contents. */
export interface Built {
  /** The page, with `{base}` in place of the path of the console. */
  readonly page: string
  /** @returns undefined if there is no such file */
  asset(name: string, accepted: readonly Encoding[]): Promise<Asset | undefined>
}

export interface Asset {
  readonly body: Buffer
  readonly type: string
  readonly encoding: Encoding | undefined
}

/** Encodings, the smallest first. */
export const encodings = ['br', 'gzip'] as const
type Encoding = (typeof encodings)[number]

const suffixes: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
}

/** The folder is beside `src` in a checkout, and beside `dist` in the package. */
export const builtFolder: string = join(root, 'console/dist')

/** @returns undefined if the console was not built */
export function readBuilt(folder: string): Built | undefined {
  let page: string
  let names: ReadonlySet<string>
  try {
    page = readFileSync(join(folder, 'index.html'), 'utf8')
    names = new Set(readdirSync(join(folder, 'assets')))
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  return {
    page,
    // A name that wasn't listed is never opened, so that no name leads out of the folder.
    asset: async (name, accepted) => {
      const type = types[extname(name)]
      if (type === undefined || !names.has(name)) return undefined
      const encoding = accepted.find(one => names.has(name + suffixes[one]))
      const file = encoding === undefined ? name : name + suffixes[encoding]
      // The file is gone if the console is built while the service runs: the page that named it is out of
      // date.
      const body = await unlessMissing(readFile(join(folder, 'assets', file)))
      return body && { body, type, encoding }
    },
  }
}
