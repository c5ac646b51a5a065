import type { Entity } from '../model/entities.ts'
import { ImportError } from './import-error.ts'
import { FileChanged } from './open-file.ts'
import type { Source } from './source.ts'

/** Files that are one object with the records as a list in it, as many services answer. */

/** Thrown for a file that is one object with the records in it. */
export class WrappedRecords extends ImportError {}

/**
 * Runs a function that reads the records of a file.
 * @throws WrappedRecords instead of an error that is due to one object around the records
 */
export async function unlessWrapped<T>(
  source: Source,
  key: Entity['key'],
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof ImportError) || error instanceof FileChanged) throw error
    await refuseWrapped(source, key)
    throw error
  }
}

/** @throws WrappedRecords if the file is one object around the records */
export async function refuseWrapped(source: Source, key: Entity['key']): Promise<void> {
  if (source.format !== 'ndjson') return
  const member = memberOfRecords(await beginningOf(source), [key].flat())
  if (member === undefined) return
  const name = JSON.stringify(member)
  throw new WrappedRecords(
    `line 1: the file is one object, and its member ${name} has the records; import that list alone: jq ${quoted(`.[${name}]`)} file.json > records.json`,
  )
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Maximum bytes of the file that are examined. */
const most = 64 * 1024
/** Maximum characters of a name that is shown in a command. */
const maxName = 60

async function beginningOf(source: Source): Promise<string> {
  for await (const chunk of source.open()) return chunk.toString('utf8', 0, most)
  return ''
}

/**
 * @returns the first member that is a list of objects; undefined if the object may itself be a
 * record, or others follow it
 */
function memberOfRecords(text: string, key: readonly string[]): string | undefined {
  const parts = /"((?:[^"\\]|\\.)*)"|[[\]{}]/gs
  let depth = 0
  let member: string | undefined
  for (const { 0: part, 1: name, index } of text.matchAll(parts)) {
    if (name !== undefined) {
      const after = text.slice(index + part.length, index + part.length + 1_000)
      if (depth !== 1 || !/^\s*:/.test(after)) continue
      if (key.includes(name)) return undefined
      if (/^\s*:\s*\[\s*\{/.test(after) && name.length <= maxName) member ??= name
    } else if (part === '{' || part === '[') depth++
    else if (--depth === 0) return text.slice(index + 1).trim() === '' ? member : undefined
  }
  return member
}
