import { type Profiler, Session } from 'node:inspector/promises'
import { setImmediate } from 'node:timers/promises'

/** In ms. Work has ended when its promise is settled and no file has been called for this long. */
const quiet = 30
/** Rounds before the counted ones, so that things loaded or cached only once are not counted. */
const warmUps = 3
const rounds = 5
const source = new URL('../src/', import.meta.url).href

export interface CalledFiles {
  /**
   * Does the work several times and finds the files called each time. Calls by timers of other threads happen
   * in some rounds only.
   *
   * @returns paths below `src/`, in the order of the first call of a function in each
   */
  during(work: () => Promise<void>): Promise<readonly string[]>
}

type Ask = (method: string, params?: object) => Promise<unknown>

/**
 * Counts calls by V8's precise coverage, in this thread and in the threads that it starts from now on. Other
 * threads are reached through this thread's inspector session.
 */
export async function watchCalls(): Promise<CalledFiles> {
  const session = new Session()
  session.connect()
  const here: Ask = (method, params) => session.post(method, params)
  const threads = new Map<string, Ask>()
  session.on('NodeWorker.attachedToWorker', ({ params: { sessionId } }) => {
    const there = askThread(session, sessionId)
    void startCounting(there).then(() => threads.set(sessionId, there))
  })
  session.on('NodeWorker.detachedFromWorker', ({ params: { sessionId } }) => threads.delete(sessionId))
  await startCounting(here)
  await here('NodeWorker.enable', { waitForDebuggerOnStart: false })

  /** @returns the files called since the previous call */
  async function take(): Promise<readonly string[]> {
    const taken = await Promise.all(
      [here, ...threads.values()].map(ask => ask('Profiler.takePreciseCoverage')),
    )
    return taken.flatMap(one => filesIn(one as Profiler.TakePreciseCoverageReturnType))
  }

  /** Looks after each turn of the event loop, which reveals the order of the calls. */
  async function calledBy(work: Promise<void>): Promise<ReadonlySet<string>> {
    const called = new Set<string>()
    let isDone = false
    let last = 0
    const done = work.finally(() => {
      isDone = true
      last = performance.now()
    })
    for (;;) {
      const wasDone = isDone
      const more = await take()
      for (const file of more) called.add(file)
      if (more.length > 0) last = performance.now()
      else if (wasDone && performance.now() - last > quiet) break
      await setImmediate()
    }
    await done
    return called
  }

  return {
    during: async work => {
      for (let round = 0; round < warmUps; round++) await calledBy(work())
      let always: readonly string[] | undefined
      for (let round = 0; round < rounds; round++) {
        await calledBy(Promise.resolve())
        const called = await calledBy(work())
        always = (always ?? [...called]).filter(file => called.has(file))
      }
      return always ?? []
    },
  }
}

async function startCounting(ask: Ask): Promise<void> {
  await ask('Profiler.enable')
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
}

function askThread(session: Session, sessionId: string): Ask {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let next = 0
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
    if (params.sessionId !== sessionId) return
    const { id, result, error } = JSON.parse(params.message) as {
      readonly id: number
      readonly result?: unknown
      readonly error?: { readonly message: string }
    }
    if (error) waiting.get(id)?.reject(new Error(error.message))
    else waiting.get(id)?.resolve(result)
    waiting.delete(id)
  })
  return async (method, params) => {
    const id = next++
    const answer = Promise.withResolvers<unknown>()
    waiting.set(id, answer)
    await session.post('NodeWorker.sendMessageToWorker', {
      sessionId,
      message: JSON.stringify({ id, method, params }),
    })
    return answer.promise
  }
}

/**
 * True for the code of a file as a whole, which is called on loading: a function without a name at the start
 * of the file.
 */
const isWholeFile = ({ functionName, ranges }: Profiler.FunctionCoverage) =>
  functionName === '' && ranges[0]?.startOffset === 0

const filesIn = ({ result }: Profiler.TakePreciseCoverageReturnType): string[] =>
  result
    .filter(
      ({ url, functions }) =>
        url.startsWith(source) && functions.some(one => (one.ranges[0]?.count ?? 0) > 0 && !isWholeFile(one)),
    )
    .map(({ url }) => url.slice(source.length))
