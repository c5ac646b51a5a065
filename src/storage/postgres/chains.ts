import type { ChainKind } from '../../model/audit-events.ts'
import type { Head, TrailKey } from '../../model/trail.ts'

/** The key with which an event loop seals events. */
export interface SealingKey {
  /** @throws Error before there is one */
  current(): TrailKey
  use(key: TrailKey | undefined): void
}

export function sealingKey(): SealingKey {
  let newest: TrailKey | undefined
  return {
    current: () => {
      if (!newest) throw new Error('the key of the trail was not loaded')
      return newest
    },
    use: key => {
      newest = key
    },
  }
}

/** The chain of the events of a connection, and the key that seals them (docs/decisions/0027). */
export interface Chain {
  readonly key: SealingKey
  /** The last event of each kind of chain; without one, the next event begins a chain. */
  readonly heads: Partial<Record<ChainKind, Head>>
}

/** @param key the key that seals events; undefined: the connection records none */
export const chainWith = (key: SealingKey = noKey): Chain => ({ key, heads: {} })

const refuse = () => {
  throw new Error('this connection records no events')
}
const noKey: SealingKey = { current: refuse, use: refuse }
