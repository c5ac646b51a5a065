import { hash, randomBytes } from 'node:crypto'
import { type Mac, macWith } from '../lib/hmac.ts'
import { msNow } from '../lib/ms-now.ts'
import type { AuditEvent, ChainKind, Changes } from './audit-events.ts'

/**
 * The chain and signatures of the audit trail (D9, docs/decisions/0027). An event's hash is SHA-256(hash of
 * the preceding event in its chain ‖ id, 8 bytes big-endian ‖ seal), and its seal is HMAC-SHA256 with the
 * trail's key over all its other columns. So events can be made, changed or moved only with the key, and
 * holders of the key can verify that.
 */

/** An event as it is stored, without its id and hash. Columns have the names that they have in the table. */
export interface EventRow {
  readonly chain: number
  /** Position in its chain, from 1. */
  readonly place: number
  readonly time: string
  readonly event: string
  readonly outcome: string
  readonly eperson: string | null
  readonly actor: string | null
  readonly client_ip: string | null
  readonly method: string | null
  readonly object: string | null
  readonly reason: string | null
  /** Number of identical events that it stands for. */
  readonly count: number
  /** The change as JSON. */
  readonly changes: string | null
  /** `Repeats` as JSON, for events that were counted. */
  readonly repeats: string | null
  /** The id of the request. */
  readonly request: string | null
}

/** Returns the columns from the time to the count, in the order in which they are sealed. */
const valuesOf = (row: EventRow) =>
  [
    row.time,
    row.event,
    row.outcome,
    row.eperson,
    row.actor,
    row.client_ip,
    row.method,
    row.object,
    row.reason,
    row.count,
  ] as const

/**
 * Returns the text that an event's seal covers. Changes, repeats and the request are included only if there are any,
 * so that events from before these were recorded still verify. The number of values tells which the last one is, so
 * none can pass for another, and none can be taken away.
 */
const sealed = (row: EventRow): string => {
  const last = [row.changes, row.repeats, row.request]
  const more = last.slice(0, last.findLastIndex(value => value !== null) + 1)
  return JSON.stringify([row.chain, row.place, ...valuesOf(row), ...more])
}

/** The last event of a chain. */
export interface Head {
  readonly chain: number
  readonly place: number
  readonly hash: Uint8Array
}

/** A head that a checkpoint signs, with the id and time of its event. */
export interface SignedHead extends Head {
  readonly event: number
  readonly time: string
}

/**
 * `begin`: the first checkpoint, which covers the events from before the upgrade. `heads`: the
 * heads of the chains that have grown. `prune`: events were removed; its heads are where each chain
 * that lost events continues.
 */
export type CheckpointKind = 'begin' | 'heads' | 'prune'

/** A checkpoint. Each one signs its predecessor, so that none can be removed from the middle. */
export interface Checkpoint {
  readonly n: number
  readonly time: string
  readonly kind: CheckpointKind
  /** A `CheckpointDetail` as JSON, as it was signed. */
  readonly detail: string
  /** The heads, ordered by chain and place. */
  readonly heads: readonly SignedHead[]
  readonly mac: Uint8Array
}

export interface CheckpointDetail {
  /** The largest event id that the checkpoint covers. */
  readonly upto: number
  /** Number of events that it covered (`begin`) or removed (`prune`). */
  readonly events?: number
  /** Number of all events ever removed. */
  readonly pruned?: number
  /** Events before this time were removed. */
  readonly before?: string
  /** The first checkpoint that was kept, and the MAC of the one before it in hexadecimal. */
  readonly first?: number
  readonly firstPrevious?: string
}

/** The value used as the hash before a chain's first event, and as the MAC before the first checkpoint. */
export const nothingBefore: Uint8Array = new Uint8Array(32)

/**
 * Returns a random number that is unlikely to be any other chain's. SQLite, PostgreSQL
 * and JSON store it exactly. Chains of events that repeat have negative numbers.
 */
export function newChain(kind: ChainKind): number {
  const number = Number(randomBytes(8).readBigUInt64BE() >> 11n)
  return kind === 'changes' ? number : -Math.max(1, number)
}

export interface TrailKey {
  /** Returns the seal of an event. */
  seal(row: EventRow): Buffer
  /** Returns the MAC of a checkpoint that follows the one with the MAC `previous`. */
  sign(previous: Uint8Array, checkpoint: Omit<Checkpoint, 'mac'>): Buffer
}

/** @param bytes 32 random bytes */
export function trailKey(bytes: Uint8Array): TrailKey {
  const mac: Mac = macWith(bytes)
  return {
    seal: row => mac(Buffer.from(`event ${sealed(row)}`)),
    sign: (previous, { n, time, kind, detail, heads }) =>
      mac(
        Buffer.from(
          `checkpoint ${JSON.stringify([
            hex(previous),
            n,
            time,
            kind,
            detail,
            heads.map(head => [head.chain, head.place, head.event, head.time, hex(head.hash)]),
          ])}`,
        ),
      ),
  }
}

/** A buffer shared by all calls, which is safe because nothing is awaited between filling and hashing it. */
const hashed = Buffer.alloc(72)

/**
 * Returns the hash of an event. PostgreSQL computes it in the same way, where the id is known only
 * when the row is inserted.
 */
export function eventHash(before: Uint8Array, id: number, seal: Uint8Array): Buffer {
  hashed.set(before)
  hashed.writeUInt32BE(Math.floor(id / 2 ** 32), 32)
  hashed.writeUInt32BE(id % 2 ** 32, 36)
  hashed.set(seal, 40)
  return hash('sha256', hashed, 'buffer')
}

/** @param time in RFC 3339 format */
export const eventRow = (event: AuditEvent, time: string, chain: number, place: number): EventRow => ({
  chain,
  place,
  time,
  event: event.event,
  outcome: event.outcome,
  eperson: event.eperson,
  actor: event.actor,
  client_ip: event.clientIp,
  method: event.method,
  // A lone surrogate is replaced, because it could not be read back as it was stored.
  object: event.object?.toWellFormed() ?? null,
  reason: event.reason?.toWellFormed() ?? null,
  count: event.count ?? 1,
  changes: event.changes ? changesText(event.changes) : null,
  repeats: event.repeats ? JSON.stringify(event.repeats) : null,
  request: event.request ?? null,
})

/** Returns the checkpoint that follows the one with this MAC. */
export const signCheckpoint = (
  key: TrailKey,
  previous: Pick<Checkpoint, 'n' | 'mac'> | undefined,
  kind: CheckpointKind,
  detail: CheckpointDetail,
  heads: readonly SignedHead[],
): Checkpoint => {
  const checkpoint = {
    n: (previous?.n ?? 0) + 1,
    time: new Date(msNow()).toISOString(),
    kind,
    detail: JSON.stringify(detail),
    heads: heads.toSorted((a, b) => a.chain - b.chain || a.place - b.place),
  }
  return { ...checkpoint, mac: key.sign(previous?.mac ?? nothingBefore, checkpoint) }
}

export const detailOf = ({ detail }: Pick<Checkpoint, 'detail'>): CheckpointDetail => JSON.parse(detail)

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/**
 * Returns the name under which an operator notes a checkpoint elsewhere: its number and its MAC, which
 * covers everything before it.
 */
export const checkpointName = ({ n, mac }: Pick<Checkpoint, 'n' | 'mac'>): string => `${n}:${hex(mac)}`

/**
 * Maximum characters of a member's value, and of each side, as JSON. Longer ones are cut, so
 * that an event stays small.
 */
const maxValue = 1_000
const maxSide = 2_000
/** Characters kept of a value that is cut, and maximum characters of a member's name. */
const kept = 250
const mark = '…'

/**
 * Returns an administrator's change as JSON that an event stores, of at most some kB whatever was changed. A
 * value that is cut becomes a text that ends in `…`, so that the result is still JSON.
 */
export function changesText({ before, after }: Changes): string {
  const text = `{"before":${sideText(before)},"after":${sideText(after)}}`
  // PostgreSQL's JSON can contain neither NUL nor an unpaired surrogate; JSON.stringify escapes both. An
  // escape is matched as a whole, so that an escaped backslash before `u0000` stays one.
  return text.replace(/\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g, (whole, escaped: string) =>
    escaped.length > 1 ? '\uFFFD' : whole,
  )
}

function sideText(side: Changes['before']): string {
  if (side === null) return 'null'
  const members: string[] = []
  let length = 0
  for (const [name, value] of Object.entries(side)) {
    const text = JSON.stringify(value) ?? 'null'
    const shown = text.length > maxValue ? JSON.stringify(`${cut(value, text)}${mark}`) : text
    const member = `${JSON.stringify(cutName(name))}:${shown}`
    length += member.length
    if (length > maxSide) {
      members.push(`"${mark}":"${mark}"`)
      break
    }
    members.push(member)
  }
  return `{${members.join()}}`
}

const cut = (value: unknown, text: string) => (typeof value === 'string' ? value : text).slice(0, kept)
const cutName = (name: string) => (name.length > kept ? `${name.slice(0, kept)}${mark}` : name)
