import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A walk of docs/architecture.md: the files to read, in order, to follow a request. */
export interface DescribedWalk {
  readonly name: string
  readonly files: readonly {
    /** The path below `src/`. */
    readonly path: string
    /** The text in parentheses after the path. */
    readonly note: string
  }[]
}

const page = fileURLToPath(new URL('../docs/architecture.md', import.meta.url))
const heading = /^\*\*([^*]+)\*\* \(\d+ files in \d+ folders\)\./m

/** Reads the walks from the page. A file without a folder is in the folder of the one before it. */
export function describedWalks(): readonly DescribedWalk[] {
  const paragraphs = readFileSync(page, 'utf8').split('\n\n')
  return paragraphs.flatMap(paragraph => {
    const name = heading.exec(paragraph)?.[1]
    if (name === undefined) return []
    let folder = '.'
    const files = [...paragraph.matchAll(/`([\w./-]+\.ts)`(?:\s+\(([^)]*)\))?/g)].map(
      ([, file = '', note = '']) => {
        const path = file === 'app.ts' ? file : normalize(file.includes('/') ? file : join(folder, file))
        folder = dirname(path)
        return { path, note: note.replaceAll('\n', ' ') }
      },
    )
    return [{ name, files }]
  })
}

/**
 * Puts the number of files of each walk into the page.
 * @param counts by the names of walks
 * @returns true if the page was up to date
 */
export function putCounts(counts: ReadonlyMap<string, string>, isCheck: boolean): boolean {
  const text = readFileSync(page, 'utf8')
  const written = text.replaceAll(new RegExp(heading, 'gm'), (line, name: string) => {
    const count = counts.get(name)
    return count === undefined ? line : `**${name}** (${count}).`
  })
  if (!isCheck) writeFileSync(page, written)
  return written === text
}
