import { service } from '../api.ts'
import { type Entity, type EntityField, pathOf, writes } from '../entities.ts'
import { written } from './pql.ts'

/** A frequent value of a field, suggested while typing. */
interface Frequent {
  readonly value: string
  readonly count: number
}

/** Answers that are given again, until something is written here, and for a minute at most. */
const known = new Map<string, Promise<readonly Frequent[]>>()
const mostKnown = 200
const lifetime = 60_000

/**
 * @returns an empty list if values can't be grouped or take too long to count, since suggestions are optional
 */
export function frequentValues(entity: Entity, field: EntityField, begun = ''): Promise<readonly Frequent[]> {
  if (field.type !== 'text') return Promise.resolve([])
  const name = written(field.name)
  const escaped = begun.replaceAll(/[\\.+*?()|[\]{}^$]/g, '\\$&')
  const condition = begun === '' ? `${name} is not null` : `${name} ~ ${JSON.stringify(`(?i)^${escaped}`)}`
  const query = `${entity.name}[${name}, count()] { ${condition} group by ${name} order by count() desc limit 12 }`
  const key = `${Math.floor(performance.now() / lifetime)} ${writes.peek()} ${query}`
  const asked = known.get(key) ?? ask(query, field.name)
  if (known.size >= mostKnown) known.clear()
  known.set(key, asked)
  return asked
}

async function ask(query: string, name: string): Promise<readonly Frequent[]> {
  try {
    const rows = await service.value.get<readonly Readonly<Record<string, unknown>>[]>(pathOf(), {
      query: { query, timeout: 2 },
    })
    return rows.map(row => ({ value: String(row[name]), count: Number(row.count) }))
  } catch {
    return []
  }
}
