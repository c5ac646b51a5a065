import type { Content } from '../model/items.ts'
import * as tables from '../storage/schema/items.ts'
import type { Change, Offered, Read } from '../storage/statements/statements.ts'
import * as db from '../storage/statements/statements.ts'

/** Time in ms for which a claim protects a content, and that a content must have been unused before it is deleted. */
const hour = 60 * 60 * 1000
/**
 * Time in ms after which a deletion that was begun has certainly been done or given up. All repetitions of a
 * request to a bucket end in a fraction of it.
 */
const deletion = 10 * 60 * 1000
/** Time in ms for which marks are kept that no sweep has looked at since. */
const forgotten = 7 * 24 * hour

/** SQL of a name for a bitstream with a content, and the maximum number of such names. */
export const holderExpression = "identifier || ', ' || bundle || '/' || name"
export const maxHolders = 3

interface SweptContents {
  /** The contents that the caller has to delete now. */
  readonly deleted: readonly string[]
  /** Number of contents that are unused from now on. */
  readonly setAside: number
  /** Number of contents that were unused and aren't any more. */
  readonly broughtBack: number
}

/**
 * The contents that bitstreams refer to, and what uploads and sweeps tell each other about those in a bucket, which
 * can't be renamed (docs/decisions/0080). A content has one row of claims at most: `claimed` by an upload, found
 * `unused` by a sweep, or being `deleted`.
 */
export const contents = {
  reads: {
    /** The distinct contents of bitstreams, by SHA-256, after this one. @param after '' for the first */
    contents: (after: string, max: number) =>
      db.rows<Content>(
        'SELECT DISTINCT sha256, size FROM bitstream WHERE sha256 > $1 ORDER BY sha256, size LIMIT $2',
        after,
        max,
      ),
    /** A few of the bitstreams with this content, as `<identifier of the item>, <bundle>/<name>`. */
    holders: (sha256: string) =>
      db.column<string>(
        `SELECT ${holderExpression} AS holder FROM bitstream JOIN item ON item.uuid = bitstream.item
         WHERE sha256 = $1 ORDER BY holder LIMIT $2`,
        sha256,
        maxHolders,
      ),
    /** The hashes among these whose content at least one bitstream has. */
    contentsInUse: (sha256: readonly string[]): Read<ReadonlySet<string>> =>
      hashes('SELECT DISTINCT sha256 FROM bitstream WHERE sha256 = ANY($1)', sha256),
  },
  changes: {
    /**
     * Keeps sweeps from deleting a content for an hour, so that a bitstream can refer to it. Each upload calls
     * this before it looks whether a bucket has the content.
     * @returns false if the content is being deleted; a moment later it can be claimed
     */
    *claimContent(sha256: string): Change<boolean> {
      const now = yield* db.clock()
      const claim = { sha256, state: 'claimed', until: now + hour }
      const unless = `(sha256) DO UPDATE SET state = 'claimed', until = excluded.until
        WHERE content_claim.state <> 'deleted' OR content_claim.until <= excluded.until - ${hour}`
      return (yield* db.insertAll(tables.contentClaim, [claim], unless)) > 0
    },
    /**
     * Notes which of these contents of a bucket are unused, and marks those that have been unused for an hour as
     * being deleted: nothing uses them any more until `endDeletion` or ten minutes later.
     * @param ahead time in ms by which the sweep's clock is ahead of the store's
     */
    *sweepContents(sha256: readonly string[], ahead: number): Change<SweptContents> {
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
    /** Called when contents have been deleted. */
    *endDeletion(sha256: readonly string[]): Change<void> {
      yield* db.run("DELETE FROM content_claim WHERE sha256 = ANY($1) AND state = 'deleted'", sha256)
    },
    /** Removes what has expired. */
    *forgetClaims(): Change<void> {
      const now = yield* db.clock()
      yield* db.run(
        "DELETE FROM content_claim WHERE until <= $1 AND (state = 'claimed' OR until <= $2)",
        now,
        now - forgotten,
      )
    },
  },
}

export type ContentStore = Offered<typeof contents>

function* hashes(...query: Parameters<typeof db.column>): Read<ReadonlySet<string>> {
  return new Set(yield* db.column<string>(...query))
}
