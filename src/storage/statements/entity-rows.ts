import type { Entity } from '../../model/entities.ts'
import type { RecordEntity } from '../entities.ts'
import { type ChangeRow, createChangedEntities } from '../records/pending-changes.ts'
import * as tables from '../schema/entities.ts'
import type { Change, Read } from './statements.ts'
import * as db from './statements.ts'

export type EntityRow = { readonly name: string; readonly definition: string }

export const toEntity = ({ name, definition }: EntityRow): Entity => ({
  name,
  ...(JSON.parse(definition) as Omit<Entity, 'name'>),
})

export const definitionOf = ({ name: _, ...definition }: Entity): string => JSON.stringify(definition)

export const isImported = (entity: Entity): entity is RecordEntity => entity.source.kind === 'records'

/** @param definition undefined: there is none */
export function importedAs(name: string, definition: string | undefined): RecordEntity | undefined {
  const entity = definition === undefined ? undefined : toEntity({ name, definition })
  return entity && isImported(entity) ? entity : undefined
}

export function* findEntity(name: string): Read<Entity | undefined> {
  const found = yield* db.row<EntityRow>('SELECT name, definition FROM entity WHERE name = $1', name)
  return found && toEntity(found)
}

/**
 * Locks the list of entities: one transaction at a time changes it.
 * @param records entities of which no records are written meanwhile
 */
export function* lockList(records?: db.RecordLock): Change<void> {
  yield* db.run('UPDATE state SET entities = entities + 1')
  if (records) yield* db.lockRecords(records)
}

/** Waits for changes of the list, and makes later ones wait until this change ends. */
export const keepList = (): Change<void> => db.lock('SELECT 1 FROM state FOR NO KEY UPDATE')

export const putEntity = (entity: Entity): Change<number> =>
  db.insert(
    tables.entity,
    {
      name: entity.name,
      definition: definitionOf(entity),
      version: isImported(entity) ? entity.source.version : null,
      changed: db.now(),
    },
    '(name) DO UPDATE SET definition = excluded.definition, version = excluded.version, changed = excluded.changed',
  )

/** Imported entities as they were when their versions were made, by name. */
export function* importedEntities(): Read<readonly RecordEntity[]> {
  const found = yield* db.rows<EntityRow>(
    'SELECT name, definition FROM entity WHERE version IS NOT NULL ORDER BY name',
  )
  return found.map(toEntity).filter(isImported)
}

type ListRow =
  | ({ definition: null; name: string } & Omit<ChangeRow, 'entity'>)
  | { definition: string; name: string; seq: null }
  | { definition: null; name: null; seq: number }

/**
 * The number of the list, the entities if it isn't the known one ($2), and the changes of each entity after the known ones ($1).
 * One statement sees one moment of the store: changes that are gone are in the new version of their entity.
 */
const selectOf = (
  known: string,
) => `SELECT NULL AS name, NULL AS definition, entities AS seq, NULL AS key, NULL AS key_values,
    NULL AS json, CAST(NULL AS BIGINT) AS added FROM state
  UNION ALL SELECT name, definition, NULL, NULL, NULL, NULL, NULL FROM entity WHERE (SELECT entities FROM state) <> $2
  UNION ALL SELECT c.entity, NULL, c.seq, c.key, c.key_values, c.json, c.added FROM entity e
    JOIN record_change c ON c.entity = e.name AND c.seq > coalesce(${known}, 0) WHERE e.version IS NOT NULL
  ORDER BY seq`
const select = {
  sqlite: selectOf('$1 ->> e.name'),
  postgres: selectOf('CAST(CAST($1 AS JSON) ->> e.name AS BIGINT)'),
}

/** Caches the entities for an event loop. */
export function createEntityList() {
  const changed = createChangedEntities()
  let stored: readonly Entity[] = []
  let list = -1

  function* readSince(known: Readonly<Record<string, number>>): Read<readonly ChangeRow[]> {
    const changes: ChangeRow[] = []
    const listed: Entity[] = []
    const before = list
    for (const row of yield* db.rows<ListRow>(select, JSON.stringify(known), list))
      if (row.name === null) list = row.seq
      else if (row.definition === null) changes.push({ ...row, entity: row.name })
      else listed.push(toEntity(row))
    if (list !== before) stored = listed.sort((one, other) => (one.name < other.name ? -1 : 1))
    return changes
  }

  return {
    /** Imported and exposed entities by name, without the single records that were written since. */
    get stored(): readonly Entity[] {
      return stored
    },
    /** @returns the same entities with those records */
    *read(): Read<readonly Entity[]> {
      for (;;) {
        const changes = yield* readSince(changed.last())
        const found = changed.apply(stored.filter(isImported), changes)
        if (!found) continue
        const byName = new Map(found.map(entity => [entity.name, entity]))
        return stored.map(entity => byName.get(entity.name) ?? entity)
      }
    },
  }
}
