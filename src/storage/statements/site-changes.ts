import type { AuditEvent, Changes } from '../../model/audit-events.ts'
import type { EditSite, ItemOutcome } from '../../model/item-changes.ts'
import type { Metadata } from '../../model/items.ts'
import type { Site } from '../repository.ts'
import { differences } from './differences.ts'
import { type Change, type Read, record, row, run } from './statements.ts'

/** @param lock keeps it as it is until the change ends */
export function* siteIn(lock = ''): Read<Site> {
  const found = yield* row<{ metadata: string; revision: number }>(
    `SELECT metadata, revision FROM site${lock}`,
  )
  // It has no row until it is changed.
  return {
    metadata: found ? (JSON.parse(found.metadata) as Metadata) : {},
    revision: found?.revision ?? 0,
  }
}

/** The metadata of the site become others. */
export function* editSite({ site, revision, metadata }: EditSite, event: AuditEvent): Change<ItemOutcome> {
  const before = yield* siteIn(' FOR UPDATE')
  if (before.revision !== revision) return 'stale'
  const changes: { changes?: Changes } = differences({ metadata: before.metadata }, { metadata })
  if (changes.changes === undefined) return 'unchanged'
  // There is no row to lock before the first change: of two that are the first, this refuses the later one.
  const changed = yield* run(
    `INSERT INTO site (id, metadata, revision) VALUES (1, $1, $2) ON CONFLICT (id) DO UPDATE
       SET metadata = excluded.metadata, revision = excluded.revision WHERE site.revision = excluded.revision - 1`,
    JSON.stringify(metadata),
    revision + 1,
  )
  if (changed === 0) return 'stale'
  yield* record({ ...event, event: 'site.change', object: site, ...changes })
  return 'changed'
}
