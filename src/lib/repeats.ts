/** How long what repeats is counted before the count is written, in ms. */
const countFor = 5 * 60_000
/** How many different things are counted at a time. Any others are written one by one. */
const maxCounted = 10_000
const writtenAtOnce = 20

/** What is written of one thing. */
export interface Repeated {
  first(): Promise<void>
  /** @param count how many came after the first, or after the last count */
  others(count: number): Promise<void>
}

export interface Repeats {
  /** @param key the same for what is the same */
  add(key: string, one: Repeated): Promise<void>
  /** Writes what was counted. */
  close(): Promise<void>
}

interface Count extends Repeated {
  readonly since: number
  /** After the first, which was written at once. */
  repeats: number
}

/**
 * Writes the first of several identical things at once, and the number of the others after some minutes, so that nobody can
 * fill a log by repeating them. Each event loop counts its own. What was counted since is lost if the process is killed.
 */
export function countRepeats(): Repeats {
  const counts = new Map<string, Count>()
  let timer: NodeJS.Timeout | undefined

  /** Counts are in the order of their beginnings. */
  async function flush(begunBefore: number): Promise<void> {
    const old: (readonly [string, Count])[] = []
    for (const [key, count] of counts) {
      if (count.since > begunBefore) break
      counts.delete(key)
      if (count.repeats > 0) old.push([key, count])
    }
    // A few at a time: others wait for the store, too.
    for (let at = 0; at < old.length; at += writtenAtOnce)
      await Promise.all(old.slice(at, at + writtenAtOnce).map(([key, count]) => write(key, count)))
  }

  async function write(key: string, count: Count): Promise<void> {
    try {
      await count.others(count.repeats)
    } catch (error) {
      // Once more, with what was counted since.
      const later = counts.get(key)
      if (later) later.repeats += count.repeats
      else counts.set(key, count)
      flushLater()
      throw error
    }
  }

  /** Until nothing is counted any more. */
  function flushLater(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      if (counts.size > 0) flushLater()
      // What can't be written now is tried again.
      flush(performance.now() - countFor).catch(() => {})
    }, countFor / 5).unref()
  }

  return {
    add: async (key, one) => {
      const known = counts.get(key)
      if (known) {
        known.repeats++
        return
      }
      if (counts.size >= maxCounted) return one.first()
      counts.set(key, { ...one, since: performance.now(), repeats: 0 })
      flushLater()
      try {
        await one.first()
      } catch (error) {
        counts.delete(key)
        throw error
      }
    },
    close: async () => {
      clearTimeout(timer)
      // A store that doesn't answer must not keep the process.
      await flush(Number.POSITIVE_INFINITY).catch(() => {})
    },
  }
}
