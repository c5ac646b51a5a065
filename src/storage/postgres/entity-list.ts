import type { Entity } from '../../model/entities.ts'
import { baseEntity, type ChangeRow, createChangedEntities } from '../columns/changed-entities.ts'
import type { RecordEntity } from '../entities.ts'
import { isImported, toEntity } from '../statements/entity-rows.ts'
import type { Queries } from './driver.ts'

type ListRow =
  | ({ definition: null; name: string } & Omit<ChangeRow, 'entity'>)
  | { definition: string; name: string; seq: null }

/** One statement, which sees the store at one moment: a new version of an entity has the changes that are gone. */
const sql = `SELECT name, definition, NULL::bigint AS seq, NULL AS key, NULL AS key_values, NULL AS json, NULL::integer AS added
    FROM entity
  UNION ALL SELECT entity, NULL, seq, key, key_values, json, added FROM record_change WHERE seq > $1 ORDER BY seq`

/** @returns what reads the entities that were imported or exposed, with the single records that were written since */
export function createEntityList(): (db: Queries) => Promise<readonly Entity[]> {
  const changed = createChangedEntities()

  async function readSince(db: Queries, seq: number) {
    const rows = await db.rows<ListRow>(sql, seq)
    const changes: ChangeRow[] = []
    const stored: Entity[] = []
    for (const row of rows)
      if (row.definition === null) changes.push({ ...row, entity: row.name })
      else stored.push(toEntity(row))
    stored.sort((one, other) => (one.name < other.name ? -1 : 1))
    return { stored, imported: stored.filter(isImported), changes }
  }

  return async db => {
    let { stored, imported, changes } = await readSince(db, changed.last)
    let found = changed.apply(imported, changes)
    if (!found) {
      ;({ stored, imported, changes } = await readSince(db, 0))
      found = changed.replace(imported, changes)
    }
    const byName = new Map(found.map(entity => [entity.name, entity]))
    return stored.map(entity => byName.get(entity.name) ?? entity)
  }
}

/** The one that is shown, and the one that it is derived from. */
export const versionsOf = (entity: RecordEntity): readonly string[] => [
  entity.source.version,
  baseEntity(entity).source.version,
]
