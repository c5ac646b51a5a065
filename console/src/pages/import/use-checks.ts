import { useEffect, useRef, useState } from 'preact/hooks'
import { type Declared, loadDeclared } from '../../administration/declared.ts'
import { loadEntities } from '../../entities.ts'
import { isName, type Preview, preview, type Wanted } from './imports.ts'

/** Time in ms after a change before the file is checked again. */
const pause = 300

interface Checks {
  /** The last preview, and what it was made of. */
  readonly seen: { readonly of: string; readonly preview: Preview } | undefined
  readonly problem: unknown
  forget(): void
}

/**
 * Checks a file again whenever something changes that its preview depends on.
 * @param upload undefined: no file has been sent yet
 * @param asked what the preview depends on
 * @param isRight false while something has to be corrected first
 */
export function useChecks(
  wanted: Wanted,
  upload: string | undefined,
  asked: string,
  isRight: boolean,
): Checks {
  const [seen, setSeen] = useState<Checks['seen']>()
  const [problem, setProblem] = useState<unknown>()
  const leaving = useRef(new AbortController())
  useEffect(() => () => leaving.current.abort(), [])
  const running = useRef<Promise<void>>(Promise.resolve())
  useEffect(() => {
    if (upload === undefined || !isRight || seen?.of === asked) return
    let isLatest = true
    const check = async () => {
      if (!isLatest) return
      setProblem(undefined)
      try {
        const found = await preview(wanted, upload, leaving.current.signal)
        if (isLatest) setSeen({ of: asked, preview: found })
      } catch (error) {
        if (isLatest && !leaving.current.signal.aborted) setProblem(error)
      }
    }
    // The service reads an upload for one request at a time.
    const timer = setTimeout(() => {
      running.current = running.current.then(check)
    }, pause)
    return () => {
      isLatest = false
      clearTimeout(timer)
    }
  }, [asked, isRight])
  return { seen, problem, forget: () => setSeen(undefined) }
}

/** Looks up the entity that a file is imported as, if it exists. */
export function useKnown(name: string) {
  const [known, setKnown] = useState<Declared>()
  const find = async (wanted: string) => {
    const isThere = isName(wanted) && (await loadEntities()).some(one => one.name === wanted)
    const found = isThere ? (await loadDeclared(wanted)).entity : undefined
    setKnown(found)
    return found
  }
  useEffect(() => {
    const timer = setTimeout(() => find(name).catch(() => {}), known?.name === name ? 0 : pause)
    return () => clearTimeout(timer)
  }, [name])
  return { known, find, forget: () => setKnown(undefined) }
}
