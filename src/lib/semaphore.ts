/**
 * Runs work, or lets it wait until there is room.
 * @param turn where in the queue it waits; without one, at the end of the line of those without
 */
export type Semaphore = <T>(work: () => Promise<T>, turn?: Turn) => Promise<T>

/** A place in the queue. Lines take turns, so a long line makes only those wait who stand in it. */
export interface Turn {
  readonly line: string
  /** Lines with three turns of four, if others wait too. */
  readonly first: boolean
}

/** The queue is full. */
export class QueueFull extends Error {
  /** The number of those that wait. */
  readonly waiting: number

  constructor(waiting: number) {
    super(`${waiting} are waiting`)
    this.waiting = waiting
  }
}

interface Waiting {
  readonly go: () => void
  readonly drop: () => void
}

/** The lines of one rank, in the order of their turns. */
type Lines = Map<string, Waiting[]>

/**
 * Limits how much work runs at the same time. The rest waits in a queue. When that is full, the last of the longest line
 * gives way to somebody whose line is shorter, and any that isn't first gives way to one that is.
 * @param maxWaiting how much may wait
 * @returns a function that rejects with `QueueFull` if too much is waiting
 */
export function createSemaphore(max: number, maxWaiting = Number.POSITIVE_INFINITY): Semaphore {
  let running = 0
  let waiting = 0
  let firstInRow = 0
  const ranks: Record<'first' | 'rest', Lines> = { first: new Map(), rest: new Map() }

  function enter({ line, first }: Turn, one: Waiting): void {
    const lines = first ? ranks.first : ranks.rest
    if (waiting >= maxWaiting && !makeRoom(lines, line)) throw new QueueFull(waiting)
    const before = lines.get(line)
    if (before) before.push(one)
    else lines.set(line, [one])
    waiting++
  }

  /** @returns false if nobody has to give way to a newcomer in this line */
  function makeRoom(lines: Lines, line: string): boolean {
    const other = lines === ranks.first ? longest(ranks.rest) : undefined
    const [name, all] = other ?? longest(lines) ?? []
    if (name === undefined || !all) return false
    if (!other && all.length <= (lines.get(line)?.length ?? 0) + 1) return false
    const dropped = all.pop()
    if (all.length === 0) (other ? ranks.rest : lines).delete(name)
    waiting--
    dropped?.drop()
    return true
  }

  /** Takes the first of the line whose turn it is. That line is the last to have its turn again. */
  function leave(): Waiting | undefined {
    const isFirst = ranks.first.size > 0 && (ranks.rest.size === 0 || firstInRow < maxFirstInRow)
    firstInRow = isFirst ? firstInRow + 1 : 0
    const lines = isFirst ? ranks.first : ranks.rest
    const [turn] = lines
    if (!turn) return undefined
    const [line, all] = turn
    const one = all.shift()
    lines.delete(line)
    if (all.length > 0) lines.set(line, all)
    waiting--
    return one
  }

  return async (work, turn = withoutLine) => {
    if (running >= max) {
      await new Promise<void>((go, reject) =>
        enter(turn, { go, drop: () => reject(new QueueFull(maxWaiting)) }),
      )
    } else running++
    try {
      return await work()
    } finally {
      const next = leave()
      // The slot passes to the next in the queue directly, so that newer work can't take it first.
      if (next) next.go()
      else running--
    }
  }
}

const maxFirstInRow = 3
const withoutLine: Turn = { line: '', first: false }

function longest(lines: Lines): [string, Waiting[]] | undefined {
  let found: [string, Waiting[]] | undefined
  for (const one of lines) if (!found || one[1].length > found[1].length) found = one
  return found
}
