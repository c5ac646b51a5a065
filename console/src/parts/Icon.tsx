import type { IconNode } from 'lucide'
import { h, type JSX } from 'preact'

/** A picture beside words that say the same. Where it stands alone, the control around it needs a name. */
export const Icon = ({ of, size = 18 }: { readonly of: IconNode; readonly size?: number }): JSX.Element => (
  <svg
    aria-hidden="true"
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width={1.75}
    stroke-linecap="round"
    stroke-linejoin="round"
  >
    {of.map(([tag, attributes]) => h(tag, { ...attributes, key: JSON.stringify(attributes) }))}
  </svg>
)
