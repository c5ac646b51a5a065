import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/sync'

/**
 * Measures the sources with the compiler's own parser: their sizes, which may only fall (test/house/sizes.test.ts), and
 * exports without importers. `npm run sizes` prints both; `--lower` lowers the ceilings to the current sizes.
 */

const root = resolve(fileURLToPath(import.meta.url), '../..')
/** Lines from which a function counts as long. */
const long = 80

/** A place in the sources: a path from the root of the repository and a name. */
interface Place {
  readonly file: string
  readonly name: string
}

/** A function that is longer than 80 lines. */
interface LongFunction extends Place {
  readonly lines: number
}

interface Measured {
  readonly files: number
  readonly lines: number
  readonly longFunctions: readonly LongFunction[]
}

export interface Sizes {
  /** `rooms` has the lines of each folder. */
  readonly src: Measured & { readonly rooms: ReadonlyMap<string, number> }
  readonly console: Measured
  /** Number of words in the pages of `docs`. */
  readonly words: number
  /** Exports without importers, and exports that only tests and benches import. */
  readonly unused: readonly Place[]
  readonly onlyTested: readonly Place[]
}

const isOurs = (path: string) => !path.includes('node_modules')

/** Parses the sources of all projects. @returns files by their paths from the root */
function parsed(api: API): Map<string, SourceFile> {
  const configs = [
    'tsconfig.json',
    ...['console', 'packages/client', 'examples', 'test/client'].map(one => `${one}/tsconfig.json`),
  ]
  const snapshot = api.updateSnapshot({ openProjects: configs.map(one => join(root, one)) })
  const files = new Map<string, SourceFile>()
  for (const { program, rootFiles } of snapshot.getProjects())
    for (const path of rootFiles.filter(isOurs)) {
      const file = program.getSourceFile(path)
      if (file) files.set(path.slice(root.length + 1), file)
    }
  return files
}

const functions: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
])

const linesOf = (file: SourceFile): number => file.text.split('\n').length - 1

/** Returns the functions of a file that are longer than 80 lines, with the names that they were given. */
function longFunctionsOf(path: string, file: SourceFile): LongFunction[] {
  const found: LongFunction[] = []
  const look = (node: Node, name: string): void => {
    const own = 'name' in node && node.name ? (node.name as Node).getText(file) : name
    if (functions.has(node.kind)) {
      const [first, last] = [node.getStart(file), node.end].map(
        at => file.getLineAndCharacterOfPosition(at).line,
      )
      const lines = (last ?? 0) - (first ?? 0) + 1
      if (lines > long) found.push({ file: path, name: own, lines })
    }
    node.forEachChild(child => look(child, own))
  }
  look(file, '')
  return found
}

/** Returns the names that a file exports. */
function exportsOf(file: SourceFile): string[] {
  return file.statements.flatMap(statement => {
    if (is.isExportDeclaration(statement)) {
      const { exportClause } = statement
      return exportClause && is.isNamedExports(exportClause)
        ? exportClause.elements.map(({ name }) => name.getText(file))
        : []
    }
    const { modifiers } = statement as { readonly modifiers?: readonly Node[] }
    if (!modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword)) return []
    if (is.isVariableStatement(statement))
      return statement.declarationList.declarations.flatMap(({ name }) =>
        is.isIdentifier(name) ? [name.text] : name.elements.map(one => one.getText(file)),
      )
    const { name } = statement as { readonly name?: Node }
    return name ? [name.getText(file)] : []
  })
}

/** The imports of a file. `name` is undefined if it imports the whole module. */
type Taken = readonly { readonly from: string; readonly name: string | undefined }[]

function takenBy(path: string, file: SourceFile): Taken {
  const taken: { from: string; name: string | undefined }[] = []
  const take = (specifier: Node | undefined, names: readonly string[] | undefined) => {
    const from = specifier && is.isStringLiteral(specifier) ? specifier.text : ''
    if (!from.startsWith('.')) return
    const other = join(dirname(path), from)
    if (names === undefined) taken.push({ from: other, name: undefined })
    else for (const name of names) taken.push({ from: other, name })
  }
  const look = (node: Node): void => {
    if (is.isImportDeclaration(node)) {
      const bindings = node.importClause?.namedBindings
      if (bindings && is.isNamedImports(bindings))
        take(
          node.moduleSpecifier,
          bindings.elements.map(one => (one.propertyName ?? one.name).text),
        )
      else if (bindings) take(node.moduleSpecifier, undefined)
    } else if (is.isExportDeclaration(node) && node.moduleSpecifier) {
      const { exportClause } = node
      take(
        node.moduleSpecifier,
        exportClause && is.isNamedExports(exportClause)
          ? exportClause.elements.map(one => (one.propertyName ?? one.name).text)
          : undefined,
      )
    } else if (is.isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword)
      take(node.arguments[0], undefined)
    else if (is.isImportTypeNode(node) && is.isLiteralTypeNode(node.argument))
      take(node.argument.literal, node.qualifier ? [node.qualifier.getText(file)] : undefined)
    node.forEachChild(look)
  }
  look(file)
  return taken
}

const isProduct = (path: string) => /^(src|console|packages)\//.test(path)
/** True for exports that no import names: the client's, and the console's texts, which the build takes apart. */
const isGiven = (path: string) => /^packages\/|\/i18n\/languages\//.test(path)

/** Measures the repository. */
export function measure(): Sizes {
  const api = new API()
  try {
    const files = parsed(api)
    const below = (folder: string, isMeant = (_: string) => true): Measured => {
      const own = [...files].filter(([path]) => path.startsWith(folder) && isMeant(path))
      return {
        files: own.length,
        lines: own.reduce((sum, [, file]) => sum + linesOf(file), 0),
        longFunctions: own
          .flatMap(([path, file]) => longFunctionsOf(path, file))
          .sort((a, b) => b.lines - a.lines),
      }
    }
    const rooms = new Map<string, number>()
    for (const [path, file] of files) {
      const [top, room = '', ...more] = path.split(sep)
      if (top === 'src' && more.length > 0) rooms.set(room, (rooms.get(room) ?? 0) + linesOf(file))
    }
    const users = new Map<string, Set<string>>()
    for (const [path, file] of files)
      for (const { from, name } of takenBy(path, file))
        for (const one of name === undefined ? exportsOf(files.get(from) ?? file) : [name]) {
          const key = `${from} ${one}`
          users.set(key, (users.get(key) ?? new Set()).add(path))
        }
    const exported = [...files].flatMap(([file, text]) =>
      isProduct(file) && !isGiven(file) ? exportsOf(text).map(name => ({ file, name })) : [],
    )
    const usersOf = ({ file, name }: Place) => [...(users.get(`${file} ${name}`) ?? [])]
    return {
      src: { ...below('src/'), rooms },
      console: below('console/src/', path => !path.includes('/i18n/languages/')),
      words: globSync('docs/**/*.md', { cwd: root }).reduce(
        (sum, page) => sum + (readFileSync(join(root, page), 'utf8').match(/\S+/g)?.length ?? 0),
        0,
      ),
      unused: exported.filter(one => usersOf(one).length === 0),
      onlyTested: exported.filter(one => {
        const all = usersOf(one)
        return all.length > 0 && all.every(path => /^(test|bench)\//.test(path))
      }),
    }
  } finally {
    api.close()
  }
}

/** The numbers that may only fall, as they are in test/house/sizes.json. */
export interface Ceilings {
  readonly [room: string]: Readonly<Record<string, number>>
}

export const ceilingsFile = join(root, 'test/house/sizes.json')

export const numbersOf = ({ src, console: shown, words, onlyTested }: Sizes): Ceilings => ({
  src: {
    files: src.files,
    lines: src.lines,
    longFunctions: src.longFunctions.length,
    largestRoom: Math.max(...src.rooms.values()),
  },
  console: { files: shown.files, lines: shown.lines, longFunctions: shown.longFunctions.length },
  docs: { words },
  exports: { onlyTested: onlyTested.length },
})

/** Returns the ceilings with those lowered that the sources have left behind. None is raised. */
const lowered = (before: Ceilings, now: Ceilings): Ceilings =>
  Object.fromEntries(
    Object.entries(now).map(([room, numbers]) => [
      room,
      Object.fromEntries(
        Object.entries(numbers).map(([name, value]) => [
          name,
          Math.min(value, before[room]?.[name] ?? value),
        ]),
      ),
    ]),
  )

if (import.meta.main) {
  const sizes = measure()
  const print = (text: string) => process.stdout.write(`${text}\n`)
  for (const [name, { files, lines, longFunctions }] of Object.entries({
    src: sizes.src,
    console: sizes.console,
  })) {
    print(`${name}: ${files} files, ${lines} lines, ${longFunctions.length} functions over ${long} lines`)
    for (const { file, name, lines } of longFunctions) print(`  ${lines} ${file} ${name}`)
  }
  for (const [room, lines] of [...sizes.src.rooms].sort((a, b) => b[1] - a[1]))
    print(`  ${lines} src/${room}`)
  print(`docs: ${sizes.words} words`)
  for (const { file, name } of sizes.unused) print(`unused: ${file} ${name}`)
  for (const { file, name } of sizes.onlyTested) print(`only tested: ${file} ${name}`)
  if (process.argv.includes('--lower')) {
    const before = JSON.parse(readFileSync(ceilingsFile, 'utf8')) as Ceilings
    writeFileSync(ceilingsFile, `${JSON.stringify(lowered(before, numbersOf(sizes)), null, 2)}\n`)
  }
}
