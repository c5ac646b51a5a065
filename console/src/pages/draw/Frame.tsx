import type { ComponentChildren, JSX } from 'preact'
import { cut } from '../../parts/Value.tsx'

/** The size of letters in drawings, in pixels. */
export const letterSize = 13

interface FrameParts {
  readonly width: number
  readonly height: number
  readonly label: string
  readonly children: ComponentChildren
}

export const Frame = ({ width, height, label, children }: FrameParts): JSX.Element => (
  <svg class="plot" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} font-size={letterSize}>
    {children}
  </svg>
)

let pen: CanvasRenderingContext2D | null | undefined

/**
 * Measures a text in pixels. A guess is not enough: a name that is cut too late loses its beginning at the
 * edge.
 */
export function widthOf(text: string): number {
  if (pen === undefined) {
    pen = document.createElement('canvas').getContext('2d')
    if (pen) pen.font = `${letterSize}px ${getComputedStyle(document.body).fontFamily}`
  }
  return pen?.measureText(text).width ?? text.length * letterSize * 0.6
}

/** Returns the room in pixels that the longest of these names takes beside a drawing, with a little space. */
export const roomFor = (names: readonly string[]): number =>
  14 + Math.max(40, ...names.map(name => widthOf(name.slice(0, 120))))

/** Shortens a text to the room in pixels. */
function fitting(text: string, room: number): string {
  const whole = cut(text, 200)
  if (widthOf(whole) <= room) return whole
  let [fits, tooMany] = [1, whole.length]
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1
    if (widthOf(cut(whole, middle)) <= room) fits = middle
    else tooMany = middle
  }
  return cut(whole, fits)
}

/** A text of a drawing. A long one is cut and shown in full when pointed at. */
export const Text = ({
  text,
  room,
  ...rest
}: { readonly text: string; readonly room: number } & JSX.IntrinsicElements['text']): JSX.Element => {
  const shown = fitting(text, room)
  return (
    <text fill="var(--ink-soft)" {...rest}>
      {shown}
      {shown !== text && <title>{cut(text, 300)}</title>}
    </text>
  )
}
