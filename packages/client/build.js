/**
 * Builds the package into `dist`: modules with types, and minified modules in `dist/browser` for pages
 * without a build step. `npm ci` and `npm pack` run it. Without the development dependencies, as on a server,
 * it does nothing.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = dirname(fileURLToPath(import.meta.url))
const require = createRequire(import.meta.url)
const entries = ['index', 'downloads', 'uploads', 'processes']

function found(name) {
  try {
    return require.resolve(`${name}/package.json`)
  } catch {
    return undefined
  }
}

const [typescript, vite] = [found('typescript'), found('vite')]
if (typescript && vite) {
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const compiler = join(dirname(typescript), require(typescript).bin.tsc)
  execFileSync(process.execPath, [compiler, '-p', join(folder, 'tsconfig.build.json')], { stdio: 'inherit' })
  const { build } = await import('vite')
  const bundle = (outDir, names, more) =>
    build({
      configFile: false,
      root: folder,
      logLevel: 'warn',
      build: {
        outDir,
        target: 'es2022',
        modulePreload: false,
        rolldownOptions: {
          input: Object.fromEntries(names.map(name => [name, join(folder, `src/${name}.ts`)])),
          preserveEntrySignatures: 'strict',
          output: { entryFileNames: '[name].js', chunkFileNames: 'shared-[hash].js' },
        },
        ...more,
      },
    })
  // The package has no dependencies: the one module that uses a library contains it, with its license beside
  // it.
  await bundle('dist', ['file-name'], {
    emptyOutDir: false,
    minify: false,
    license: { fileName: 'licenses.md' },
  })
  await bundle('dist/browser', entries, { license: { fileName: 'licenses.md' } })
}
