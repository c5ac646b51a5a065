import { useEffect, useRef } from 'preact/hooks'

/** Runs one piece of abortable work at a time, and aborts it when the component is removed. */
interface Stopper {
  /** Aborts the running work and returns the signal for the next. */
  begin(): AbortSignal
  stop(): void
}

export function useStopper(): Stopper {
  const current = useRef<AbortController | undefined>(undefined)
  const stopper = useRef<Stopper>({
    begin: () => {
      current.current?.abort()
      current.current = new AbortController()
      return current.current.signal
    },
    stop: () => current.current?.abort(),
  })
  useEffect(() => stopper.current.stop, [])
  return stopper.current
}
