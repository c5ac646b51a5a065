import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * docs/contract.md: people write the rules; `npm run docs` writes which tests hold each, the list of planned rules, and
 * the links.
 */
const repository = fileURLToPath(new URL('..', import.meta.url))
export const contractPath = join(repository, 'docs/contract.md')

export interface Rule {
  readonly name: string
  readonly text: string
  /** What is agreed but not built: the whole rule, a part of it, or nothing. */
  readonly planned: 'all' | 'part' | 'none'
}

/** A rule is one line. Its first mark stands with its number, others in its text. */
export const rulesIn = (contract: string): Rule[] =>
  [...contract.matchAll(/^- \*\*([A-Z]+\d+) (\(.*)$/gm)].map(([text, name = '', rest = '']) => {
    const marks = [...`**${rest}`.matchAll(/\*\*\((given|ours|ours, planned)\)\*\*/g)].map(([, mark]) => mark)
    const planned = marks.filter(mark => mark === 'ours, planned').length
    return { name, text, planned: planned === 0 ? 'none' : planned === marks.length ? 'all' : 'part' }
  })

/** The statement that makes a test, whatever it is called here, with a name that begins with rules. */
const namedTest = /^\s*(?:void |await )?[\w.]+\(\s*(?:'\w+',\s*)?['"`]((?:[A-Z]+\d+ )+)/gm

/** Of each test file, the rules that begin the names of its tests. */
export const rulesOfTests = (): Map<string, ReadonlySet<string>> =>
  new Map(
    globSync('test/**/*.test.ts', { cwd: repository })
      .toSorted()
      .map(file => {
        const names = readFileSync(join(repository, file), 'utf8').matchAll(namedTest)
        return [file, new Set([...names].flatMap(([, rules = '']) => rules.trim().split(' ')))]
      }),
  )

const labelOf = (file: string) => file.replace(/^test\/(.*)\.test\.ts$/, '[$1]')

/** The contract, with what is generated in it as it is now. */
export function contract(): string {
  const tests = rulesOfTests()
  const written = readFileSync(contractPath, 'utf8')
    .replace(/^ {2}Tests: .*\n/gm, '')
    .replace(/\n## Planned\n[\s\S]*/, '')
  const rules = rulesIn(written)
  const linked = new Set<string>()
  const linesOf = ({ name, text }: Rule): string => {
    const files = [...tests].filter(([, names]) => names.has(name)).map(([file]) => file)
    for (const file of files) linked.add(file)
    return files.length === 0 ? text : `${text}\n  Tests: ${files.map(labelOf).join(' · ')}`
  }
  const body = rules.reduce((text, rule) => text.replace(rule.text, () => linesOf(rule)), written)
  const planned = (what: Rule['planned']) =>
    rules
      .filter(rule => rule.planned === what)
      .map(rule => rule.name)
      .join(', ')
  return `${body}
## Planned
Not built yet: ${planned('all')}. Built in part: ${planned('part')}.

<!-- Which tests hold a rule, this list and these links: \`npm run docs\`. -->
${[...linked]
  .toSorted()
  .map(file => `${labelOf(file)}: ../${file}`)
  .join('\n')}
`
}
