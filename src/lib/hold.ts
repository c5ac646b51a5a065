/** The right to use something alone, until it is released or its holder falls silent. It says itself that it is alive. */
export interface Hold {
  /** @returns false if another program has taken it */
  isOurs(): Promise<boolean>
  /** Never fails: what can't be released falls silent. */
  release(): Promise<void>
}

export interface HoldOptions {
  /** Time in ms after which a silent holder counts as ended. */
  readonly silence: number
  /** Called when another program wants the hold, or has taken it. A caller with it also asks the present holder to stop. */
  onWanted?(): void
}

/** Takes a hold that all nodes know by its name. @returns undefined if another program has it and may be alive */
export type TakeLease = (name: string, options: HoldOptions) => Promise<Hold | undefined>

/** The state of a hold, as a heartbeat finds it. */
interface Seen {
  readonly isOurs: boolean
  readonly isWanted: boolean
}

/**
 * Keeps a hold alive until it is released. Beats don't overlap, and a release waits for the one under way, which
 * could write the hold once more.
 * @param interval time in ms between two beats of a hold that others may want
 * @param beat says that the holder is alive, unless another has taken the hold
 */
export function keepHold(
  { silence, onWanted }: HoldOptions,
  interval: number,
  { beat, remove }: { beat(): Promise<Seen>; remove(): Promise<unknown> },
): Hold {
  let underWay: Promise<Seen> | undefined
  const next = async () => {
    underWay ??= beat().finally(() => {
      underWay = undefined
    })
    const { isOurs, isWanted } = await underWay
    if (!isOurs || isWanted) onWanted?.()
    return isOurs
  }
  const timer = setInterval(
    () => void next().catch(() => {}),
    onWanted ? interval : Math.min(10_000, silence / 4),
  ).unref()
  const ended = async () => {
    await underWay?.catch(() => {})
  }
  return {
    isOurs: () => ended().then(next),
    release: async () => {
      clearInterval(timer)
      await ended()
      // A hold that can't be removed falls silent.
      await remove().catch(() => {})
    },
  }
}
