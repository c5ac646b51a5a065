import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { build } from 'rolldown'
import { openApi } from './open-api.ts'

/**
 * What is published: `src/` as a few files in `dist/`, or in another folder, which the first argument names. Loaded one by
 * one, the modules made a start a quarter longer (docs/decisions/0051).
 */
const root = join(import.meta.dirname, '..')
const dist = join(root, process.argv[2] ?? 'dist')

/** What threads and processes begin with: `programFile` looks for them where they are in `src/`. */
const programs = [
  'cli/main',
  'cli/worker',
  'cli/import-process',
  'cli/ingest-process',
  'cli/question-process',
  'authn/sso/metadata/thread',
  'authn/sso/saml-thread',
  'import/worker',
  'query/long-texts-thread',
  'storage/postgres/record-worker',
  'storage/sqlite/reader',
  'storage/sqlite/writer',
]

const source = (name: string) => join(root, 'src', `${name}.ts`)
/** Packages stay what npm installs. */
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
    // Names and lines stay, for traces of errors. V8 keeps a text with any other character at two bytes for each.
    comments: false,
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
  },
})
// It is read by Node of any age, so it imports nothing before it has looked at the version.
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

/** The files of the reference page, so that an installed package needs no more. */
const page = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
mkdirSync(join(dist, 'swagger-ui'))
for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE'])
  copyFileSync(join(page, name), join(dist, 'swagger-ui', name))

/** For programs that make clients and tests of the API without starting a service. */
writeFileSync(join(dist, 'openapi.json'), await openApi())
