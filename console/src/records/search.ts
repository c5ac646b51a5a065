import { service } from '../api.ts'
import {
  type DataRecord,
  type Entity,
  entityPath,
  type Json,
  keyOf,
  pathOf,
  recordPath,
} from '../entities.ts'
import { readExactly } from '../exact.ts'
import { written } from '../query/pql.ts'
import { withQuery } from '../router.ts'
import { nameField } from './view.ts'

/** A record in which all words were found. */
interface Hit {
  readonly path: string
  /** The name of the record; words that were found in it are marked as in `texts`. */
  readonly name: string
  /** Texts in which words were found; these are between U+0002 and U+0003. */
  readonly texts: readonly { readonly field: string; readonly text: string }[]
}

export interface Found {
  readonly entity: Entity
  readonly total: number
  readonly hits: readonly Hit[]
}

/** Maximum numbers of entities searched at all and at a time, and of texts looked at for the words. */
const [mostEntities, mostAtATime, mostTexts] = [200, 3, 10]
/** Number of records shown of an entity. */
const mostHits = 3
/** Time in seconds after which the service gives up on an entity. */
const patience = 20

/** The audit trail has a page and filters of its own, and files belong to items. */
const hidden = new Set(['audit-events', 'bitstreams'])

const isSearchable = ({ fields, name }: Entity) =>
  !hidden.has(name) && fields.some(({ type }) => type === 'text' || type === 'json')

/** True if there is something to look for. */
export const hasWord = (words: string): boolean => /[\p{L}\p{N}]/u.test(words)

/** Searches words in all entities, a few at a time; each is reported as soon as it has answered. */
export async function searchAll(
  {
    entities,
    words,
    signal,
  }: {
    readonly entities: readonly Entity[]
    readonly words: string
    readonly signal: AbortSignal
  },
  report: (found: Found | { readonly entity: Entity; readonly problem: unknown }) => void,
): Promise<void> {
  const waiting = entities.filter(isSearchable).slice(0, mostEntities)
  const work = async () => {
    for (let entity = waiting.shift(); entity && !signal.aborted; entity = waiting.shift()) {
      const now = entity
      const answer = await searchIn(now, words, signal).catch((problem: unknown) => ({
        entity: now,
        problem,
      }))
      if (!signal.aborted) report(answer)
    }
  }
  await Promise.all(Array.from({ length: mostAtATime }, work))
}

/** The condition that a search stands for, as the box over a table writes it, too. */
const conditionFor = (words: string): string => `* match ${JSON.stringify(words)}`

export const allPath = ({ name }: Entity, words: string): string =>
  withQuery(entityPath(name), { q: conditionFor(words) })

async function searchIn(entity: Entity, words: string, signal: AbortSignal): Promise<Found> {
  const keys = keyOf(entity)
  const name = nameField(entity)?.name
  // The name comes first, so that it is among those that are looked at.
  const texts = entity.fields
    .filter(({ type }) => type === 'text')
    .toSorted((a, b) => Number(b.name === name) - Number(a.name === name))
    .slice(0, mostTexts)
  const columns = [...keys.map(written), ...texts.map(one => `highlight(${written(one.name)})`)]
  const query = `${entity.name}[${columns.join(', ')}] { ${conditionFor(words)} order by relevance desc }`
  const asked = { query, limit: mostHits, include_total: true, timeout: patience }
  const response = await service.value.request('GET', pathOf(), { query: asked, signal })
  const rows = readExactly(await response.text()) as readonly DataRecord[]
  return {
    entity,
    total: Number(response.headers.get('x-records')),
    hits: rows.map(row => {
      // The columns have the order of the query, whatever their names are.
      const marked = Object.values(row).slice(-texts.length)
      return {
        path: pathFor(entity, row),
        name:
          titleIn(marked[texts.findIndex(one => one.name === name)]) ??
          keys.map(key => String(row[key])).join(', '),
        texts: texts.flatMap(({ name: field, label = field }, at) => {
          const text = marked[at]
          const isFound = typeof text === 'string' && text.includes('\u0002') && field !== name
          return isFound ? [{ field: label, text }] : []
        }),
      }
    }),
  }
}

const titleIn = (value: Json | undefined) =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined

/** Items, people and groups have pages of their own. */
const pathFor = (entity: Entity, row: DataRecord) => {
  const own = { items: 'items', epersons: 'admin/people', groups: 'admin/groups' }[entity.name]
  return own ? `${own}/${String(row.uuid)}` : recordPath(entity, row)
}

/** A piece of a text, and true if it was found. */
type Piece = readonly [text: string, isFound: boolean]

/** Numbers of characters shown before and after the first word that was found. */
const [before, after] = [60, 160]

/** Cuts a text around the first word that was found in it. */
export function piecesOf(text: string): readonly Piece[] {
  const place = Math.max(0, text.indexOf('\u0002'))
  const from = Math.max(0, place - before)
  const cut = text.slice(from, place + after)
  const pieces = cut.split('\u0002').flatMap((part, at): readonly Piece[] => {
    if (at === 0) return [[part, false]]
    const [found = '', rest = ''] = part.split('\u0003')
    return [
      [found, true],
      [rest, false],
    ]
  })
  return [
    ...(from > 0 ? [['…', false] as const] : []),
    ...pieces.filter(([piece]) => piece !== ''),
    ...(place + after < text.length ? [['…', false] as const] : []),
  ]
}
