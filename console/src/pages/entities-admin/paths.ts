import type { DeclaredField } from '../../administration/declared.ts'
import { type DataRecord, loadPage } from '../../entities.ts'

/** Numbers of records that are looked at, of paths that are offered of a field, and of levels inside of it. */
const most = { records: 200, paths: 100, levels: 5 } as const

/** A field with the paths to single values that were found in it. */
interface FieldPaths {
  readonly field: string
  readonly paths: readonly string[]
}

/** Finds the paths into the JSON fields of an entity in its first records. */
export async function pathsIn(
  name: string,
  fields: readonly Pick<DeclaredField, 'name' | 'type' | 'list'>[],
  signal: AbortSignal,
): Promise<readonly FieldPaths[]> {
  const json = fields.filter(({ type }) => type === 'json')
  if (json.length === 0) return []
  const { records } = await loadPage(name, { limit: most.records }, signal)
  return json.flatMap(({ name: field, list }) => {
    const found = list ? [] : pathsOf(field, records)
    return found.length > 0 ? [{ field, paths: found }] : []
  })
}

function pathsOf(field: string, records: readonly DataRecord[]): readonly string[] {
  const found = new Set<string>()
  const look = (value: unknown, path: string, level: number) => {
    if (value === null || found.size >= most.paths) return
    if (Array.isArray(value) && level < most.levels)
      for (const one of value) look(one, `${path}[*]`, level + 1)
    else if (isObject(value) && level < most.levels)
      for (const [key, one] of Object.entries(value)) look(one, `${path}.${part(key)}`, level + 1)
    else if (!isObject(value) && level > 0) found.add(path)
  }
  for (const record of records) look(record[field], field, 0)
  return [...found].toSorted()
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const part = (key: string) => (/^[\p{L}\p{N}_-]+$/u.test(key) ? key : `"${key}"`)
