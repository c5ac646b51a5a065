import type { Repository } from '../repository.ts'
import * as tables from '../schema/items.ts'
import type { Change, SomeOf } from './statements.ts'
import * as db from './statements.ts'

/** Time in ms for which a claim protects a content, and that a content must have been unused before it is deleted. */
const hour = 60 * 60 * 1000
/**
 * Time in ms after which a deletion that was begun has certainly been done or given up. All repetitions of a
 * request to a bucket end in a fraction of it.
 */
const deletion = 10 * 60 * 1000
/** Time in ms for which marks are kept that no sweep has looked at since. */
const forgotten = 7 * 24 * hour

/**
 * What uploads and sweeps tell each other about contents in a bucket, which can't be renamed
 * (docs/decisions/0080). A content has one row at most: `claimed` by an upload, found `unused` by a sweep,
 * or being `deleted`.
 */
export const contentClaims = {
  reads: {},
  changes: {
    *claimContent(sha256) {
      const now = yield* db.clock()
      const claim = { sha256, state: 'claimed', until: now + hour }
      const unless = `(sha256) DO UPDATE SET state = 'claimed', until = excluded.until
        WHERE content_claim.state <> 'deleted' OR content_claim.until <= excluded.until - ${hour}`
      return (yield* db.insertAll(tables.contentClaim, [claim], unless)) > 0
    },
    *sweepContents(sha256, ahead) {
      const now = (yield* db.clock()) + ahead
      const inUse = yield* hashes('SELECT DISTINCT sha256 FROM bitstream WHERE sha256 = ANY($1)', sha256)
      const broughtBack = yield* db.run(
        "DELETE FROM content_claim WHERE sha256 = ANY($1) AND state IN ('unused', 'deleted')",
        [...inUse],
      )
      const unused = sha256.filter(one => !inUse.has(one)).toSorted()
      // A bitstream that was added since the first statement has claimed its content before.
      const deleted = yield* hashes(
        `UPDATE content_claim SET state = 'deleted', until = $2 WHERE sha256 = ANY($1)
           AND state IN ('unused', 'deleted') AND until <= $3
           AND NOT EXISTS (SELECT 1 FROM bitstream WHERE bitstream.sha256 = content_claim.sha256)
         RETURNING sha256`,
        unused,
        now + deletion,
        now,
      )
      const setAside = yield* db.insertAll(
        tables.contentClaim,
        unused.map(one => ({ sha256: one, state: 'unused', until: now + hour })),
        `(sha256) DO UPDATE SET state = 'unused', until = excluded.until
           WHERE content_claim.state = 'claimed' AND content_claim.until <= excluded.until - ${hour}`,
      )
      return { deleted: [...deleted], setAside, broughtBack }
    },
    *endDeletion(sha256) {
      yield* db.run("DELETE FROM content_claim WHERE sha256 = ANY($1) AND state = 'deleted'", sha256)
    },
    *forgetClaims() {
      const now = yield* db.clock()
      yield* db.run(
        "DELETE FROM content_claim WHERE until <= $1 AND (state = 'claimed' OR until <= $2)",
        now,
        now - forgotten,
      )
    },
  },
} satisfies SomeOf<Pick<Repository, ClaimMethod>>

type ClaimMethod = 'claimContent' | 'sweepContents' | 'endDeletion' | 'forgetClaims'

function* hashes(...query: Parameters<typeof db.column>): Change<ReadonlySet<string>> {
  return new Set(yield* db.column<string>(...query))
}
