import { type ComponentChildren, cloneElement, type JSX, type VNode } from 'preact'
import { useId } from 'preact/hooks'
import { CircleAlert } from '../icons.ts'
import { Icon } from './Icon.tsx'

interface Parts {
  readonly label: string
  readonly hint?: ComponentChildren
  /** A description of the fault in the value. */
  readonly fault?: string | undefined
  /** Shows the label to screen readers only, where the surroundings say it already. */
  readonly hidden?: boolean
  readonly class?: string
  /** One control: an input, a select or a textarea. */
  readonly children: VNode<JSX.IntrinsicElements['input']>
}

/** A control with its label, hint and fault, tied to each other for screen readers. */
export function Field({ label, hint, fault, hidden, children, class: name = '' }: Parts): JSX.Element {
  const id = useId()
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ')
  const control = cloneElement(children, {
    id,
    ...(described ? { 'aria-describedby': described } : {}),
    ...(fault ? { 'aria-invalid': 'true' } : {}),
  })
  return (
    <div class={`field ${name}`}>
      <label for={id} class={hidden ? 'sr-only' : ''}>
        {label}
      </label>
      {control}
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {fault && (
        <span class="fault" id={`${id}-fault`}>
          <Icon of={CircleAlert} size={15} />
          {fault}
        </span>
      )}
    </div>
  )
}
