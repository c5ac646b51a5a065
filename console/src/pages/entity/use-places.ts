import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { DataRecord } from '../../entities.ts'

/** A cell by its record and its field. */
export interface Place {
  readonly row: string
  readonly field: string
}

/**
 * The cell that has the focus, and the way to others.
 * @param names of the columns
 * @param keys fields that can't be edited in their cells
 * @param rows a cell keeps the focus when they change
 */
export function usePlaces(
  ids: readonly string[],
  names: readonly string[],
  keys: ReadonlySet<string>,
  rows: readonly DataRecord[],
) {
  const whole = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState<Place>()
  const current = at && ids.includes(at.row) && names.includes(at.field) ? at : undefined
  const toFocus = useRef<Place | undefined>(undefined)
  const focusOn = (place: Place | undefined) => {
    if (!place) return
    setAt(place)
    toFocus.current = place
  }
  // Focuses the cell before the browser handles another key, so that none is lost.
  useLayoutEffect(() => {
    const cell = toFocus.current && cellOf(whole.current, toFocus.current)
    if (!cell) return
    toFocus.current = undefined
    cell.focus()
  })
  const moved = (place: Place, down: number, right: number): Place | undefined => {
    const row = ids[ids.indexOf(place.row) + down]
    const field = names[names.indexOf(place.field) + right]
    return row !== undefined && field !== undefined ? { row, field } : undefined
  }
  /** The next cell that can be edited, in the direction of reading or against it. */
  const nextOf = (place: Place, step: 1 | -1): Place | undefined => {
    const all = ids.flatMap(row => names.filter(field => !keys.has(field)).map(field => ({ row, field })))
    const here = all.findIndex(one => one.row === place.row && one.field === place.field)
    return all[here + step]
  }

  // A cell that had the focus keeps it when its row is written again.
  useEffect(() => {
    if (current && document.activeElement === document.body) cellOf(whole.current, current)?.focus()
  }, [rows])

  const first = ids[0] !== undefined && names[0] !== undefined ? { row: ids[0], field: names[0] } : undefined
  return { whole, current, first, setAt, focusOn, moved, nextOf }
}

const cellOf = (whole: Element | null, { row, field }: Place): HTMLElement | null | undefined =>
  whole?.querySelector<HTMLElement>(`td[data-row="${CSS.escape(row)}"][data-field="${CSS.escape(field)}"]`)
