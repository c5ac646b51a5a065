import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'

/** A value that a page loads. While it is loaded again, the previous value stays. */
export interface Loaded<T> {
  readonly value: T | undefined
  readonly problem: unknown
  readonly loading: boolean
  reload(): void
}

/** @param on the load is repeated when one of these values changes, and one that is under way is aborted */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, on: readonly unknown[]): Loaded<T> {
  const [round, setRound] = useState(0)
  // An answer names what it was asked for, so that an older one never passes for the current one, not even
  // for the moment between a change and the effect that starts the next load.
  const asked = useMemo(() => ({}), [...on, round])
  const [{ to, value, problem }, setAnswer] = useState<{
    readonly to?: object
    readonly value?: T
    readonly problem?: unknown
  }>({})
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const controller = new AbortController()
    latest.current(controller.signal).then(
      value => controller.signal.aborted || setAnswer({ to: asked, value }),
      problem => controller.signal.aborted || setAnswer({ to: asked, problem }),
    )
    return () => controller.abort()
  }, [asked])
  return {
    value,
    problem: to === asked ? problem : undefined,
    loading: to !== asked,
    reload: useCallback(() => setRound(one => one + 1), []),
  }
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
