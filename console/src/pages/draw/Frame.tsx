import type { ComponentChildren, JSX } from 'preact'
import { cut } from '../../parts/Value.tsx'

/** What every drawing is made of. Letters are of this size, in the units of the drawing: pixels. */
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

/** Long names are cut; the whole one shows up when they are pointed at. */
export const Text = ({
  text,
  of = 22,
  ...rest
}: { readonly text: string; readonly of?: number } & JSX.IntrinsicElements['text']): JSX.Element => (
  <text fill="var(--ink-soft)" {...rest}>
    {cut(text, of)}
    {text.length > of && <title>{cut(text, 300)}</title>}
  </text>
)
