import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/** A value that a page loads. While it is loaded again, the previous value stays. */
export interface Loaded<T> {
  readonly value: T | undefined
  readonly problem: unknown
  readonly loading: boolean
  reload(): void
}

/** @param on the load is repeated when one of these values changes, and one that is under way is aborted */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, on: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    value: undefined,
    problem: undefined,
    loading: true,
  })
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const controller = new AbortController()
    setState(({ value }) => ({ value, problem: undefined, loading: true }))
    latest.current(controller.signal).then(
      value => controller.signal.aborted || setState({ value, problem: undefined, loading: false }),
      problem => controller.signal.aborted || setState({ value: undefined, problem, loading: false }),
    )
    return () => controller.abort()
  }, [...on, round])
  return { ...state, reload: useCallback(() => setRound(one => one + 1), []) }
}

/** A piece of work started by the user, with its state and its failure. */
export interface Work {
  readonly busy: boolean
  readonly problem: unknown
  run(): void
  forget(): void
}

export function useWork(work: () => Promise<unknown>): Work {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const run = () => {
    if (busy) return
    setBusy(true)
    setProblem(undefined)
    work()
      .catch(setProblem)
      .finally(() => setBusy(false))
  }
  return { busy, problem, run, forget: () => setProblem(undefined) }
}
