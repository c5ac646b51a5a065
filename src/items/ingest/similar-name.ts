import { lstat, opendir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { unlessMissing } from '../../lib/system-errors.ts'

/**
 * Maximum number of names compared for a missing file, because a source may have large folders and many missing files.
 */
const maxNames = 1_000

/**
 * Explains why a file is missing if a similar name exists: with backslashes, in another case or Unicode form,
 * or with white space that an editor doesn't show.
 * @param path path in the folder, without `..`
 * @param advice advice for a name that differs in another way
 * @returns '' or a clause that begins with a semicolon
 */
export async function hintFor(
  folder: string,
  path: string,
  advice = ': write both names the same way',
): Promise<string> {
  if (path.includes('\\')) {
    const withSlashes = path.replaceAll('\\', '/')
    const found = await unlessMissing(lstat(join(folder, withSlashes)))
    return found ? `; write ${withSlashes}` : '; separate folders with /, not \\'
  }
  const bare = /^(["'])(.+)\1$/.exec(path)?.[2]
  if (bare !== undefined && (await unlessMissing(lstat(join(folder, bare)))))
    return `; write ${bare} without quotes`
  const full = join(folder, path)
  const wanted = path.split('/').at(-1) ?? ''
  const found = await findSimilar(dirname(full), wanted)
  if (found === undefined) return ''
  const shown = visible(found)
  if (found.trim() === wanted) return `; there is ${shown}: remove the white space from its name`
  return found.normalize() === wanted.normalize()
    ? `; there is ${shown} in another Unicode normalization form: rename one of them`
    : `; there is ${shown}${advice}`
}

const simplify = (name: string) => name.normalize('NFC').trim().toLowerCase()

async function findSimilar(folder: string, wanted: string): Promise<string | undefined> {
  const entries = await unlessMissing(opendir(folder))
  if (!entries) return undefined
  let count = 0
  for await (const { name } of entries) {
    if (simplify(name) === simplify(wanted)) return name
    if (++count >= maxNames) return undefined
  }
  return undefined
}

/**
 * Returns a text in quotation marks, with escapes for white space other than plain spaces, and for characters
 * that change how text is shown.
 */
export const visible = (text: string): string =>
  JSON.stringify(text).replace(
    /[^\S ]|[\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069]/gu,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
