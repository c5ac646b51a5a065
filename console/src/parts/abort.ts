import { useEffect, useRef } from 'preact/hooks'

/** Work that can be stopped, one at a time; it stops when the page goes, too. */
export interface Stopper {
  /** Stops what runs, and gives the signal of what begins. */
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
