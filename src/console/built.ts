import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

/** What `console/build.js` made: one page, and files whose names change with their contents. */
export interface Built {
  /** The page, with `{base}` where the path of the console stands. */
  readonly page: string
  /** @returns undefined if there is no such file */
  asset(name: string, encodings: readonly Encoding[]): Promise<Asset | undefined>
}

export interface Asset {
  readonly body: Buffer
  readonly type: string
  readonly encoding: Encoding | undefined
}

export type Encoding = 'br' | 'gzip'

const suffixes: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
}

/** Beside `src` in a checkout, and beside `dist` in the package. */
export const builtFolder: string = join(import.meta.dirname, '../../console/dist')

/** @returns undefined if the console was not built */
export function readBuilt(folder: string): Built | undefined {
  let page: string
  let names: ReadonlySet<string>
  try {
    page = readFileSync(join(folder, 'index.html'), 'utf8')
    names = new Set(readdirSync(join(folder, 'assets')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  return {
    page,
    // Only names that were listed are ever opened, so that no name leads out of the folder.
    asset: async (name, encodings) => {
      const type = types[extname(name)]
      if (type === undefined || !names.has(name)) return undefined
      const encoding = encodings.find(one => names.has(name + suffixes[one]))
      const file = encoding === undefined ? name : name + suffixes[encoding]
      return { body: await readFile(join(folder, 'assets', file)), type, encoding }
    },
  }
}
