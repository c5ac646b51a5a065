import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { build } from 'rolldown'
import { openApi } from './open-api.ts'

/**
 * Bundles `src/` for publication into a few files in `dist/`, or in the folder named by the first argument.
 * Loading each module separately makes the start a quarter longer (docs/decisions/0051).
 */
const root = join(import.meta.dirname, '..')
const dist = join(root, process.argv[2] ?? 'dist')

/** Entry points of threads and processes. `programFile` looks for them at the same paths as in `src/`. */
const programs = [
  'cli/main',
  'cli/worker',
  'cli/import-process',
  'cli/ingest-process',
  'cli/question-process',
  'cli/store-reader',
  'cli/store-writer',
  'sso/metadata/thread',
  'sso/saml-thread',
  'import/worker',
  'query/long-texts-thread',
  'storage/columns/field-thread',
  'storage/postgres/record-worker',
]

const source = (name: string) => join(root, 'src', `${name}.ts`)
/** True for modules of packages, which stay as npm installs them. */
const isPackage = (id: string) => !/^[./]/.test(id)

rmSync(dist, { recursive: true, force: true })
await build({
  input: Object.fromEntries(programs.map(name => [name, source(name)])),
  platform: 'node',
  external: isPackage,
  output: {
    dir: dist,
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name]-[hash].js',
    // Names and line breaks stay, for stack traces. ASCII only, because V8 stores a text with any other
    // character at two bytes each.
    comments: false,
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
  },
})
// Node of any age must be able to read this file, so it imports nothing before it has checked the version.
await build({
  input: { carrel: source('cli/carrel') },
  platform: 'node',
  external: isPackage,
  plugins: [
    {
      name: 'leave-main',
      resolveId: id => (id === './main.ts' ? { id: './main.js', external: true } : undefined),
    },
  ],
  output: { dir: join(dist, 'cli'), entryFileNames: '[name].js' },
})
chmodSync(join(dist, 'cli/carrel.js'), 0o755)

/** Files of the API reference page, copied so that an installed package needs no others. */
const page = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
mkdirSync(join(dist, 'swagger-ui'))
for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE'])
  copyFileSync(join(page, name), join(dist, 'swagger-ui', name))
for (const path of ['src/openapi/theme.css', 'console/src/styles/tokens.css'])
  copyFileSync(join(root, path), join(dist, 'swagger-ui', basename(path)))

/** The OpenAPI document for programs that generate clients or tests without starting a service. */
writeFileSync(join(dist, 'openapi.json'), await openApi())
