import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Search } from '../icons.ts'
import { query, setQuery } from '../router.ts'
import { Icon } from './Icon.tsx'
import './search-box.css'

interface Parts {
  readonly label: string
  readonly value: string
  readonly onSearch: (text: string) => void
}

/** In ms: who types on is not asked about each letter. */
const pause = 250

/** A text to look for. It is asked for when somebody stops typing. */
export function SearchBox({ label, value, onSearch }: Parts): JSX.Element {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => onSearch(typed), pause)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <search class="search-box">
      <Icon of={Search} />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={typed}
        onInput={event => setTyped(event.currentTarget.value)}
        onKeyDown={event => event.key === 'Enter' && onSearch(typed)}
      />
    </search>
  )
}

/** What is looked for is in the address. */
export const AddressSearch = ({
  label,
  name = 'q',
}: {
  readonly label: string
  readonly name?: string
}): JSX.Element => (
  <SearchBox
    label={label}
    value={query.value.get(name) ?? ''}
    onSearch={text => setQuery({ [name]: text, page: null }, { replace: true })}
  />
)
