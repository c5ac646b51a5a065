import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Search } from '../icons.ts'
import { query, setQuery } from '../router.ts'
import { Icon } from './Icon.tsx'
import { useTyped } from './typed.ts'
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
  const asked = useRef<string | undefined>(undefined)
  const [typed, setTyped] = useTyped(value, text => {
    const isExpected = text === asked.current
    asked.current = undefined
    return isExpected
  })
  const ask = () => {
    asked.current = typed
    onSearch(typed)
  }
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(ask, pause)
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
        onKeyDown={event => event.key === 'Enter' && ask()}
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
