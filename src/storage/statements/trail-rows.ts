import type { Checkpoint, CheckpointKind, SignedHead } from '../../model/trail.ts'
import type { Rows } from '../trail.ts'

/** A checkpoint with one of its heads; nulls if it has none. */
export interface CheckpointRow {
  readonly n: number
  readonly time: string
  readonly kind: CheckpointKind
  readonly detail: string
  readonly mac: Uint8Array
  readonly chain: number | null
  readonly place: number
  readonly event: number
  readonly head_time: string
  readonly hash: Uint8Array
}

/** The columns of `CheckpointRow`, of the tables c and h. */
export const checkpointColumns =
  'c.n, c.time, c.kind, c.detail, c.mac, h.chain, h.place, h.event, h.time AS head_time, h.hash'

/** @param rows in the order of n, chain and place */
export async function* groupHeads(rows: Rows<CheckpointRow>): AsyncIterable<Checkpoint> {
  let current: (Omit<Checkpoint, 'heads'> & { readonly heads: SignedHead[] }) | undefined
  for await (const { chain, place, event, head_time, hash, ...row } of rows) {
    if (row.n !== current?.n) {
      if (current) yield current
      current = { ...row, heads: [] }
    }
    if (chain !== null) current.heads.push({ chain, place, event, time: head_time, hash })
  }
  if (current) yield current
}
