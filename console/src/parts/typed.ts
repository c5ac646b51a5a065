import { useRef, useState } from 'preact/hooks'

/**
 * The state of a field or a form that begins as `start`. When `start` changes, the state follows; if an equal
 * `start` is loaded again, the typed value stays. The state is set while rendering, because an effect would
 * come one frame later and erase what was typed in between.
 *
 * @param isExpected returns true if a new `start` is only the typed value coming back
 */
export function useTyped<T>(
  start: T,
  isExpected: (start: T) => boolean = () => false,
): readonly [typed: T, set: (typed: T) => void] {
  const [typed, setTyped] = useState(start)
  const key = JSON.stringify(start)
  const from = useRef(key)
  if (from.current === key) return [typed, setTyped]
  from.current = key
  if (isExpected(start)) return [typed, setTyped]
  setTyped(start)
  return [start, setTyped]
}
