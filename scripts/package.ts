import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/**
 * `npm run package`: puts together what npm publishes in `build/package`, or in the folder that the first argument names, and packs
 * that. A package has the program, the console, the guides and the reference, and a manifest without what only a clone needs. Further
 * arguments are those of `npm pack`. The console has been built before.
 */
const root = join(import.meta.dirname, '..')
const named = process.argv.slice(2, 3).filter(one => !one.startsWith('-'))
const folder = resolve(root, named[0] ?? 'build/package')

/** Pages about the code, which a package doesn't have. */
const ofClone =
  /^docs\/(decisions(\/|$)|(architecture|contract|test-runs)\.md$|reference\/(openapi-digest\.txt|redocly\.yaml)$)/

const { name, version, description, keywords, license, type, engines, bin, dependencies, files } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as Record<string, unknown> & { readonly files: readonly string[] }

/** Contents of the module that `import 'carrel'` loads: the package is a program, and its files are renamed with each version. */
const notALibrary = `throw new Error(
  'carrel is a program: run \`npx carrel serve\`. To use a service from a program, import @carrel/client.',
)
`

/** A relative link: its words and its target. */
const link = String.raw`!?\[((?:[^[\]]|\[[^[\]]*\])*)\]\((?!\w+:|#)([^)#\s]+)(?:#[^)\s]*)?\)`

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
run(process.execPath, [join(root, 'scripts/build.ts'), relative(root, join(folder, 'dist'))])
cpSync(join(root, 'console/dist'), join(folder, 'console/dist'), { recursive: true })
// Only what Git has is packed: settings with passwords may lie beside the examples.
const kept = execFileSync('git', ['ls-files', '-z', '--', 'README.md', ...files], {
  cwd: root,
  encoding: 'utf8',
})
for (const file of kept.split('\0').filter(one => one !== '' && !ofClone.test(one)))
  cpSync(join(root, file), join(folder, file))
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
run('npm', ['pack', folder, ...process.argv.slice(2 + named.length)])

/**
 * Drops links to what the package doesn't have where they are alone in parentheses or entries of a list, and turns the others
 * into their texts.
 */
function withOwnLinks(text: string, place: string): string {
  const isThere = (target: string) => existsSync(join(place, target))
  const alone = [
    new RegExp(`\\s*\\(${link}\\)`, 'g'),
    new RegExp(`(?<=^(?:- )?\\[[^|\\n]*) · ${link}(?:: [^·\\n]*)?(?= ·|$)`, 'gm'),
    new RegExp(`^- ${link}: .*\\n`, 'gm'),
  ]
  return alone
    .reduce(
      (left, form) => left.replaceAll(form, (all, _, target: string) => (isThere(target) ? all : '')),
      text,
    )
    .replaceAll(new RegExp(link, 'g'), (all, words: string, target: string) =>
      isThere(target) ? all : words,
    )
}

function run(command: string, args: readonly string[]): void {
  // npm is a script on Windows, and the shell there splits arguments at blanks.
  const shell = command === 'npm' && process.platform === 'win32'
  const { status } = spawnSync(command, shell ? args.map(one => `"${one}"`) : args, {
    stdio: 'inherit',
    shell,
  })
  if (status !== 0) process.exit(status ?? 1)
}
