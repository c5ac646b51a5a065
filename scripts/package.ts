import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/**
 * `npm run package`: puts together what npm publishes in `build/package`, and packs that. A package has the program, the console,
 * the guides and the reference, and a manifest without what only a clone needs. Further arguments are those of `npm pack`.
 */
const root = join(import.meta.dirname, '..')
const folder = join(root, 'build/package')

/** Pages about the code, which a package doesn't have. */
const ofClone =
  /^docs\/(decisions(\/|$)|(architecture|contract|test-runs)\.md$|reference\/(openapi-digest\.txt|redocly\.yaml)$)/

const { name, version, description, keywords, license, type, engines, bin, dependencies, files } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as Record<string, unknown> & { readonly files: readonly string[] }

/** What an import of the package meets: it is a program, and its files change their names with each version. */
const notALibrary = `throw new Error(
  'carrel is a program: run \`npx carrel serve\`. To use a service from a program, import @carrel/client.',
)
`

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
run(process.execPath, [join(root, 'scripts/build.ts'), relative(root, join(folder, 'dist'))])
for (const file of ['README.md', ...files.filter(one => one !== 'dist')])
  cpSync(join(root, file), join(folder, file), {
    recursive: true,
    filter: path => !ofClone.test(relative(root, path).replaceAll('\\', '/')),
  })
writeFileSync(join(folder, 'dist/not-a-library.js'), notALibrary)
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify(
    {
      ...{ name, version, description, keywords, license, type, engines, bin },
      exports: {
        '.': './dist/not-a-library.js',
        './openapi.json': './dist/openapi.json',
        './package.json': './package.json',
      },
      dependencies,
    },
    null,
    2,
  )}\n`,
)
for (const page of globSync('**/*.md', { cwd: folder })) {
  const path = join(folder, page)
  writeFileSync(path, withOwnLinks(readFileSync(path, 'utf8'), dirname(path)))
}
run('npm', ['pack', folder, ...process.argv.slice(2)])

/** Turns links to what the package doesn't have into their texts. */
function withOwnLinks(text: string, place: string): string {
  return text.replaceAll(
    /!?\[((?:[^[\]]|\[[^[\]]*\])*)\]\((?!\w+:|#)([^)#\s]+)(?:#[^)\s]*)?\)/g,
    (link, words: string, target: string) => (existsSync(join(place, target)) ? link : words),
  )
}

function run(command: string, args: readonly string[]): void {
  // npm is a script on Windows.
  const { status } = spawnSync(command, args, {
    stdio: 'inherit',
    shell: command === 'npm' && process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
}
