import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { cut } from '../../parts/Value.tsx'
import { href } from '../../router.ts'
import type { Series } from './series.ts'

/** The size of letters in drawings, in pixels. */
export const letterSize = 13

interface FrameParts {
  readonly width: number
  readonly height: number
  readonly label: string
  /** True for a drawing that is wider than its frame, in which it is scrolled. */
  readonly isWider?: boolean
  readonly children: ComponentChildren
}

/** Keys that go from one mark to another, with the number of marks that they pass. */
const moves: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  End: Number.POSITIVE_INFINITY,
  Home: Number.NEGATIVE_INFINITY,
}

/** The picture itself. Its marks are one stop for the Tab key; arrows go from mark to mark. */
export function Frame({ width, height, label, isWider = false, children }: FrameParts): JSX.Element {
  const frame = useRef<SVGSVGElement>(null)
  const marks = () => [...(frame.current?.querySelectorAll<SVGAElement>('a.mark') ?? [])]
  const stopAt = (mark: SVGAElement | undefined) => {
    for (const one of marks()) if (one !== mark && one.tabIndex === 0) one.setAttribute('tabindex', '-1')
    mark?.setAttribute('tabindex', '0')
  }
  useEffect(() => {
    if (!marks().some(one => one.tabIndex === 0)) stopAt(marks()[0])
  })
  const onKeyDown = (event: KeyboardEvent) => {
    const by = moves[event.key]
    const all = marks()
    const at = all.indexOf(document.activeElement as unknown as SVGAElement)
    if (by === undefined || at < 0) return
    event.preventDefault()
    const to = all[Math.max(0, Math.min(all.length - 1, at + by))]
    stopAt(to)
    to?.focus()
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be part of a picture
    <svg
      ref={frame}
      class="plot"
      viewBox={`0 0 ${width} ${height}`}
      role="group"
      aria-label={label}
      font-size={letterSize}
      style={isWider ? { minWidth: `${width / 16}rem`, maxWidth: 'none' } : undefined}
      onKeyDown={onKeyDown}
      onFocusIn={event => stopAt((event.target as Element).closest<SVGAElement>('a.mark') ?? undefined)}
    >
      {children}
    </svg>
  )
}

interface Parts {
  readonly title: string
  /** A path of the console. */
  readonly to: string | undefined
  readonly children: ComponentChildren
}

/** A mark with its description. It leads to its records if a condition can find them. */
export const Mark = ({ title, to, children }: Parts): JSX.Element =>
  to === undefined ? (
    <g>
      <title>{title}</title>
      {children}
    </g>
  ) : (
    <a class="mark" href={href(to)} tabindex={-1} aria-label={title}>
      <title>{title}</title>
      {children}
    </a>
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

/** The name of an axis. */
export const AxisName = (parts: Parameters<typeof Text>[0]): JSX.Element => (
  <Text font-weight="600" fill="var(--ink)" {...parts} />
)

const legendLine = 22

/** Returns the places of the names of a legend, line by line, and the height of all lines. */
export function legendOf(series: readonly Series[], width: number) {
  if (series.length < 2) return { height: 0, entries: [] }
  let [x, y] = [0, 0]
  const entries = series.map(one => {
    const wide = Math.min(width, 22 + widthOf(cut(one.name, 60)))
    if (x > 0 && x + wide > width) [x, y] = [0, y + legendLine]
    const entry = { ...one, x, y }
    x += wide + 18
    return entry
  })
  return { height: y + legendLine + 10, entries }
}

interface LegendParts {
  readonly of: ReturnType<typeof legendOf>
  readonly width: number
}

/** The names of the series with their colors, at the top of a drawing. */
export const Legend = ({ of, width }: LegendParts) => (
  <g>
    {of.entries.map(({ place, name, colour, x, y }) => (
      <g key={place?.key ?? ''} transform={`translate(${x} ${y})`}>
        <rect width={12} height={12} y={3} rx={2} fill={colour} />
        <Text text={cut(name, 60)} room={width - 22} x={20} y={14} fill="var(--ink)" />
      </g>
    ))}
  </g>
)
