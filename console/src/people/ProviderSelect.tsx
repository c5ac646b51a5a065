import type { JSX } from 'preact'
import type { Provider } from './logins.ts'

interface Parts {
  readonly providers: readonly Provider[]
  readonly value: string
  readonly onChoose: (id: string) => void
  /** Ties the control to the label of its field. */
  readonly id?: string
}

/** A choice among the providers of single sign-on. */
export const ProviderSelect = ({ providers, value, onChoose, id }: Parts): JSX.Element => (
  <select
    {...(id === undefined ? {} : { id })}
    value={value}
    onChange={event => onChoose(event.currentTarget.value)}
  >
    {providers.map(({ id: one, name }) => (
      <option key={one} value={one}>
        {name === one ? one : `${name} (${one})`}
      </option>
    ))}
  </select>
)
