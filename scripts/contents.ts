import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { callsOf, functions } from '../src/model/functions/functions.ts'

/** Number of headings of the second level from which a page has a list of its contents, however short it is. */
const fromHeadings = 11
/** Number of lines above which a page has such a list, if it has headings. */
const longPage = 200

const start = '<!-- Contents, by `npm run docs`. -->'
const list = new RegExp(`${start}\\n[^\\n]*\\n\\n`)
/** The list of functions, which their objects document. */
const functionsStart = '<!-- Functions, by `npm run docs`. -->'
const functionTable = new RegExp(`${functionsStart}\\n(?:\\|[^\\n]*\\n)*`)
const docs = fileURLToPath(new URL('../docs/', import.meta.url))

/** The anchor that a heading has on the page, as GitHub and GitLab make it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** The headings of a page's sections, outside of blocks of code. */
const headingsOf = (page: string): string[] =>
  [...page.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '').matchAll(/^## (.+)$/gm)].map(
    ([, heading = '']) => heading,
  )

/** The heading of a decision begins with its number. */
const isDecision = (heading: string): boolean => /^\d{4} /.test(heading)

/** Returns a page with a list of its contents before the first of its headings, if it is long, has many, or decisions. */
export function withContents(page: string): string {
  const plain = page.replace(list, '').replace(functionTable, () => `${functionsStart}\n${functionRows()}`)
  const headings = headingsOf(plain)
  const isLong = headings.length > 1 && plain.split('\n').length > longPage
  if (!isLong && headings.length < fromHeadings && !headings.some(isDecision)) return plain
  const links = headings.map(heading => `[${heading}](#${anchorOf(heading)})`)
  return plain.replace(/^## /m, `${start}\n${links.join(' · ')}\n\n## `)
}

/** Returns the table of functions of the query language. */
function functionRows(): string {
  const rows = [...functions].map(([name, of]) => {
    const calls = callsOf(name, of).map(call => `\`${call}\``)
    return `| ${calls.join(', ')} | ${of.documentation} |\n`
  })
  return `| Function | Gives |\n|---|---|\n${rows.join('')}`
}

/** Every page that may have such a list, by its path below docs/. */
export const pages = (): ReadonlyMap<string, string> =>
  new Map(
    globSync('{*,decisions/*,how-to/*,reference/*}.md', { cwd: docs }).map(path => [
      path,
      readFileSync(join(docs, path), 'utf8'),
    ]),
  )

/** A section of docs/decisions. */
export interface Decision {
  readonly number: string
  /** The name of its page, and the anchor of its heading there. */
  readonly page: string
  readonly anchor: string
}

/** Every decision, page by page. */
export const decisions = (): Decision[] =>
  [...pages()].flatMap(([path, page]) =>
    path.startsWith('decisions/')
      ? headingsOf(page)
          .filter(isDecision)
          .map(heading => ({
            number: heading.slice(0, 4),
            page: basename(path),
            anchor: anchorOf(heading),
          }))
      : [],
  )

/** Returns the rows of a table that leads from the number of a decision to its section. */
export function decisionRows(): string {
  const all = decisions()
  const rows = [...pages()].flatMap(([path, page]) => {
    const links = all
      .filter(one => path === `decisions/${one.page}`)
      .map(one => `[${one.number}](${one.page}#${one.anchor})`)
    const [, title] = /^# (.+)$/m.exec(page) ?? []
    return links.length === 0 ? [] : [`| [${title}](${basename(path)}) | ${links.join(', ')} |`]
  })
  return rows.toSorted().join('\n')
}
