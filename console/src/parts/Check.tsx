import type { ComponentChildren, JSX } from 'preact'

interface Parts {
  readonly checked: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly children: ComponentChildren
}

export const Check = ({ checked, onChange, children }: Parts): JSX.Element => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={event => onChange(event.currentTarget.checked)} />
    <span>{children}</span>
  </label>
)
