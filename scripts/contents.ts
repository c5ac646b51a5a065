import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Number of headings of the second level from which a page has a list of its contents. */
const fromHeadings = 11

const start = '<!-- Contents, by `npm run docs`. -->'
const list = new RegExp(`${start}\\n[^\\n]*\\n\\n`)
const docs = fileURLToPath(new URL('../docs/', import.meta.url))

/** The anchor that a heading has on the page, as GitHub and GitLab make it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** Returns a page with a list of its contents before the first of its headings, if it has many. */
export function withContents(page: string): string {
  const plain = page.replace(list, '')
  const code = /^( *)```[\s\S]*?^\1```$/gm
  const headings = [...plain.replaceAll(code, '').matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading)
  if (headings.length < fromHeadings) return plain
  const links = headings.map(heading => `[${heading}](#${anchorOf(heading)})`)
  return plain.replace(/^## /m, `${start}\n${links.join(' · ')}\n\n## `)
}

/** Every page that may have such a list, by its path below docs/. */
export const pages = (): ReadonlyMap<string, string> =>
  new Map(
    globSync('{*,how-to/*,reference/*}.md', { cwd: docs }).map(path => [
      path,
      readFileSync(join(docs, path), 'utf8'),
    ]),
  )
