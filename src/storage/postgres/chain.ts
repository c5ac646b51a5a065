import type { Head, TrailKey } from '../../model/trail.ts'

/** The chain that the events of a connection make, and what they are sealed with (docs/decisions/0027). */
export interface Chain {
  readonly key: () => TrailKey
  /** undefined: the next event begins it. */
  head: Head | undefined
}

/** @param key what events are sealed with; undefined: the connection records none */
export const chainWith = (key: (() => TrailKey) | undefined): Chain => ({
  key: key ?? noKey,
  head: undefined,
})

function noKey(): never {
  throw new Error('this connection records no events')
}
