import type { Head, TrailKey } from '../../model/trail.ts'

/** The key that an event loop seals events with. */
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

/** The chain that the events of a connection make, and what they are sealed with (docs/decisions/0027). */
export interface Chain {
  readonly key: SealingKey
  /** undefined: the next event begins it. */
  head: Head | undefined
}

/** @param key what events are sealed with; undefined: the connection records none */
export const chainWith = (key: SealingKey = noKey): Chain => ({ key, head: undefined })

const refuse = () => {
  throw new Error('this connection records no events')
}
const noKey: SealingKey = { current: refuse, use: refuse }
