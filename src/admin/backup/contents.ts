import { open } from 'node:fs/promises'
import { holderExpression, maxHolders } from '../../files/content-statements.ts'
import { type Opened, readThrough } from '../../files/opened.ts'
import type { Database } from '../../lib/sqlite.ts'
import type { Content } from '../../model/items.ts'

/** Number of contents worked on at once, equal to the default size of Node's thread pool. */
const maxAtOnce = 4

/**
 * The first two hexadecimal digits of SHA-256, each of which stands for a part of the contents. Working on
 * one part at a time keeps memory bounded.
 */
export const digitsOfParts: readonly string[] = Array.from({ length: 256 }, (_, part) =>
  part.toString(16).padStart(2, '0'),
)

/**
 * Iterates over the distinct contents of the items in a store's database, by SHA-256.
 * @param digits the digits that their SHA-256 begins with
 */
export function* contentsIn(db: Database, digits = ''): Iterable<Content> {
  const sql =
    'SELECT DISTINCT sha256, size FROM bitstream WHERE sha256 >= ? AND sha256 < ? ORDER BY sha256, size'
  // A tilde sorts after all hexadecimal digits.
  for (const [sha256, size] of db.iterate(sql, digits, `${digits}~`))
    yield { sha256: String(sha256), size: Number(size) }
}

/** Returns some of the files with this content, each as `<identifier of the item>, <bundle>/<name>`. */
export const holdersIn = (db: Database, sha256: string): readonly string[] =>
  db
    .all<{ holder: string }>(
      `SELECT ${holderExpression} AS holder FROM bitstream JOIN item ON item.uuid = bitstream.item
       WHERE sha256 = ? ORDER BY holder LIMIT ?`,
      sha256,
      maxHolders,
    )
    .map(({ holder }) => holder)

/** Returns the number of distinct contents, and their total size in bytes. */
export const countContents = (db: Database): { readonly count: number; readonly bytes: number } => ({
  ...(db.get<{ count: number; bytes: number }>(
    'SELECT count(*) AS count, coalesce(sum(size), 0) AS bytes FROM (SELECT DISTINCT sha256, size FROM bitstream)',
  ) ?? { count: 0, bytes: 0 }),
})

/** Does some work for each content, with a few running at once. */
export async function forEachContent(
  contents: Iterable<Content>,
  work: (content: Content) => Promise<void>,
): Promise<void> {
  const iterator = contents[Symbol.iterator]()
  const run = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: maxAtOnce }, run))
}

/** Copies an open file to a new one, and closes it. @returns what was copied */
export async function copyTo(from: Opened, path: string): Promise<Content> {
  try {
    const to = await open(path, 'wx', 0o600)
    try {
      const content = await readThrough(from, chunk => to.writeFile(chunk))
      await to.sync()
      return content
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}
