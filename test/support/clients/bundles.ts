import { join } from 'node:path'
import { build } from 'vite'
import { repository } from '../service/process.ts'

export const entries = ['index', 'downloads', 'uploads', 'processes'] as const
export type Entry = (typeof entries)[number]

/**
 * Builds modules of the client for browsers, minified, from its sources as `packages/client/build.js` does.
 *
 * @param together modules built together share common code in a further file; a module alone contains all it
 * needs
 * @returns the text of each file, by name
 */
export async function bundle(together: readonly Entry[]): Promise<ReadonlyMap<string, string>> {
  const folder = join(repository, 'packages/client')
  const result = await build({
    configFile: false,
    root: folder,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: {
        input: Object.fromEntries(together.map(name => [name, join(folder, `src/${name}.ts`)])),
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: '[name].js', chunkFileNames: 'shared-[hash].js' },
      },
    },
  })
  if (!('output' in result)) throw new Error('Vite makes one output')
  return new Map(result.output.map(one => [one.fileName, 'code' in one ? one.code : '']))
}
