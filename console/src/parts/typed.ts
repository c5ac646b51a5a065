import { useRef, useState } from 'preact/hooks'

/**
 * What is typed into a field or a form that begins as `start`. When what it begins from becomes another, it begins again;
 * what was typed stays when the same is loaded again. This is done while rendering: an effect comes a frame later, and
 * would take away what was typed until then.
 *
 * @param isExpected whether a new start is only what was typed before, on its way back
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
