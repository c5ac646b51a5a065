/** Time in ms for which repetitions are counted before the count is written. */
const countFor = 5 * 60_000
/** Maximum number of different keys counted at a time. Entries with other keys are written one by one. */
const maxCounted = 10_000
const writtenAtOnce = 20

/** The writers for the entries of one key. */
interface Repeated {
  first(): Promise<void>
  /** @param count number of entries since the first, or since the last count */
  others(count: number): Promise<void>
}

export interface Repeats {
  /** @param key the same for identical entries */
  add(key: string, one: Repeated): Promise<void>
  /** Writes the counts so far. */
  close(): Promise<void>
}

interface Count extends Repeated {
  readonly since: number
  /** Number of entries after the first, which was written at once. */
  repeats: number
}

/**
 * Writes the first of several identical entries at once, and the number of the others after some minutes, so
 * that a log can't be filled by repetition. Each event loop counts its own. Counts that are not yet written
 * are lost if the process is killed.
 */
export function countRepeats(): Repeats {
  const counts = new Map<string, Count>()
  let timer: NodeJS.Timeout | undefined

  /** Writes the counts begun before this time. The map has them in the order of their beginnings. */
  async function flush(begunBefore: number): Promise<void> {
    const old: (readonly [string, Count])[] = []
    for (const [key, count] of counts) {
      if (count.since > begunBefore) break
      counts.delete(key)
      if (count.repeats > 0) old.push([key, count])
    }
    // To bound the load on the store, only a few are written at a time.
    for (let at = 0; at < old.length; at += writtenAtOnce)
      await Promise.all(old.slice(at, at + writtenAtOnce).map(([key, count]) => write(key, count)))
  }

  async function write(key: string, count: Count): Promise<void> {
    try {
      await count.others(count.repeats)
    } catch (error) {
      // The count is kept, together with what has been counted since, and written later.
      const later = counts.get(key)
      if (later) later.repeats += count.repeats
      else counts.set(key, count)
      flushLater()
      throw error
    }
  }

  /** Schedules the next flush, and repeats until nothing is counted any more. */
  function flushLater(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      if (counts.size > 0) flushLater()
      // Counts that can't be written now are tried again later.
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
      // A store that doesn't answer must not keep the process from ending.
      await flush(Number.POSITIVE_INFINITY).catch(() => {})
    },
  }
}
