import type { IconNode } from 'lucide'
import type {
  ButtonHTMLAttributes,
  ComponentChildren,
  FormHTMLAttributes,
  InputHTMLAttributes,
  JSX,
  PartialInputHTMLAttributes,
  PartialSelectHTMLAttributes,
  TextareaHTMLAttributes,
} from 'preact'
import { href } from '../router.ts'
import { Icon } from './Icon.tsx'

/** The attributes of an element, except those that a control of the console sets itself. */
type Of<Attributes> = Omit<Attributes, 'icon' | 'label' | 'onSubmit' | 'ref' | 'role' | 'size'>

const looks = {
  plain: 'button',
  primary: 'button primary',
  danger: 'button danger',
  quiet: 'button quiet',
  icon: 'button quiet icon',
  link: 'link-button',
  'danger-link': 'link-button danger',
  menu: 'menu-item',
}

interface Shown {
  readonly look?: keyof typeof looks
  readonly icon?: IconNode
  /** The size of the icon. */
  readonly size?: number
  /** The text; children take its place where it is more than a text. */
  readonly label?: ComponentChildren
  /** The thing among others of its kind that it is about, for those who hear the name of the control alone. */
  readonly of?: string
  readonly children?: ComponentChildren
}

type ButtonParts = Of<ButtonHTMLAttributes<HTMLButtonElement>> & Shown

/** A button. It submits a form only if its type says so. */
export const Button = ({
  look = 'plain',
  icon,
  size = 18,
  label,
  of,
  children,
  ...rest
}: ButtonParts): JSX.Element => (
  <button
    type="button"
    class={looks[look]}
    {...(of !== undefined && { 'aria-label': `${label}: ${of}` })}
    {...rest}
  >
    {icon && <Icon of={icon} size={size} />}
    {label ?? children}
  </button>
)

/** The main button of a form. */
export const Submit = ({
  busy,
  ...rest
}: ButtonParts & { readonly busy?: boolean | undefined }): JSX.Element => (
  <Button look="primary" type="submit" aria-busy={busy} {...rest} />
)

/** A button that is only a picture. Its label is read aloud, and shown to the pointer. */
export const IconButton = ({ label, ...rest }: ButtonParts & { readonly label: string }): JSX.Element => (
  <Button look="icon" aria-label={label} title={label} {...rest} />
)

interface LinkParts extends Omit<Shown, 'of' | 'size'> {
  /** A path of the console, or an address outside of it. */
  readonly to: string | { readonly href: string }
}

/** A link that looks like a button. */
export const LinkButton = ({ look = 'plain', icon, label, children, to }: LinkParts): JSX.Element => (
  <a class={looks[look]} href={typeof to === 'string' ? href(to) : to.href}>
    {icon && <Icon of={icon} />}
    {label ?? children}
  </a>
)

interface NameLinkParts {
  /** A path of the console. */
  readonly to: string
  readonly name: ComponentChildren
}

/** A name that leads to the page of what is called so. */
export const NameLink = ({ to, name }: NameLinkParts): JSX.Element => (
  <a href={href(to)}>
    <bdi>{name}</bdi>
  </a>
)

type InputParts = Of<PartialInputHTMLAttributes<HTMLInputElement>> & {
  readonly type?: string
  readonly list?: string
}

interface Typed {
  readonly onText: (text: string) => void
}

/** A line to type in. */
export const Input = ({ onText, ...rest }: InputParts & Typed): JSX.Element => (
  <input
    {...(rest as InputHTMLAttributes<HTMLInputElement>)}
    onInput={event => onText(event.currentTarget.value)}
  />
)

export const TextArea = ({
  onText,
  ...rest
}: Of<TextareaHTMLAttributes<HTMLTextAreaElement>> & Typed): JSX.Element => (
  <textarea {...rest} onInput={event => onText(event.currentTarget.value)} />
)

type Option<Value> = readonly [value: Value, text: string]

/**
 * A choice of one of several values, each with its text. @param none the text of the first choice, which is the
 * empty string
 */
export function Select<Value extends string, None extends string | undefined = undefined>({
  options,
  none,
  onChoose,
  ...rest
}: Of<PartialSelectHTMLAttributes<HTMLSelectElement>> & {
  readonly options: readonly Option<Value>[]
  readonly none?: None
  readonly onChoose: (value: Value | (None extends string ? '' : never)) => void
}): JSX.Element {
  const all: readonly Option<Value | ''>[] = none === undefined ? options : [['', none], ...options]
  return (
    <select
      {...rest}
      onChange={event => {
        const chosen = all[event.currentTarget.selectedIndex]
        if (chosen) onChoose(chosen[0] as Value)
      }}
    >
      {all.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** A form that the console sends itself. */
export const Form = ({
  onSubmit,
  ...rest
}: Of<FormHTMLAttributes<HTMLFormElement>> & { readonly onSubmit: () => unknown }): JSX.Element => (
  <form
    {...rest}
    onSubmit={event => {
      event.preventDefault()
      onSubmit()
    }}
  />
)

interface CheckParts {
  readonly checked: boolean
  readonly onChange: (isChecked: boolean) => void
  /** The text; children take its place where it is more than a text. */
  readonly label?: string
  readonly children?: ComponentChildren
}

/** A checkbox with its text. */
export const Check = ({ checked, onChange, label, children }: CheckParts): JSX.Element => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={event => onChange(event.currentTarget.checked)} />
    <span>{label ?? children}</span>
  </label>
)
