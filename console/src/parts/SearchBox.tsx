import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../i18n/i18n.ts'
import { Search, X } from '../icons.ts'
import { query, setQuery } from '../router.ts'
import { IconButton } from './controls.tsx'
import { Icon } from './Icon.tsx'
import { useTyped } from './typed.ts'
import './search-box.css'

interface Parts {
  readonly label: string
  readonly value: string
  readonly onSearch: (text: string) => void
}

/** Time in ms without typing after which the search begins, so that not each letter causes a request. */
const pause = 250

/** A search field, which reports its text when typing stops. */
export function SearchBox({ label, value, onSearch }: Parts): JSX.Element {
  const asked = useRef<string | undefined>(undefined)
  const [typed, setTyped] = useTyped(value, text => {
    const isExpected = text === asked.current
    asked.current = undefined
    return isExpected
  })
  const ask = (text = typed) => {
    asked.current = text
    onSearch(text)
  }
  const input = useRef<HTMLInputElement>(null)
  const clear = () => {
    setTyped('')
    ask('')
    input.current?.focus()
  }
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => ask(), pause)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <search class="search-box">
      <Icon of={Search} />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        value={typed}
        onInput={event => setTyped(event.currentTarget.value)}
        onKeyDown={event => event.key === 'Enter' && ask()}
      />
      {typed !== '' && <IconButton icon={X} size={16} label={t('search.clear')} onClick={clear} />}
    </search>
  )
}

interface AddressSearchParts {
  readonly label: string
  readonly name?: string
}

/** A search field whose text is a parameter of the address. */
export const AddressSearch = ({ label, name = 'q' }: AddressSearchParts): JSX.Element => (
  <SearchBox
    label={label}
    value={query.value.get(name) ?? ''}
    onSearch={text => setQuery({ [name]: text, page: null }, { replace: true })}
  />
)
