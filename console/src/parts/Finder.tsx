import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../api.ts'
import { t } from '../i18n/i18n.ts'
import { useLoad } from './load.ts'
import { SearchBox } from './SearchBox.tsx'
import { ProblemNotice } from './states.tsx'
import { toast } from './toast.tsx'
import './finder.css'

interface Parts<Row> {
  readonly label: string
  /** Path of a search of the service that takes `query`. */
  readonly path: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly nameOf: (row: Row) => string
  /** Returns a note that tells the row from others of the same name. */
  readonly noteOf?: (row: Row) => string
  readonly idOf: (row: Row) => string
  /** The label of the button beside each row. */
  readonly action: string
  readonly onChoose: (row: Row) => Promise<unknown> | unknown
}

/** Maximum number of results shown; a longer text narrows them down. */
const most = 8

/** A search for one row of many, with a button that acts on it. */
export function Finder<Row>(parts: Parts<Row>): JSX.Element {
  const { label, path, parameters = {}, nameOf, noteOf, idOf, action, onChoose } = parts
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const { value, problem } = useLoad(
    async signal =>
      text.trim() === ''
        ? undefined
        : service.value
            .list<Row>(path, { query: { ...parameters, query: text.trim() } })
            .page(0, most, signal),
    [text, path, JSON.stringify(parameters), chosen],
  )
  const choose = async (row: Row) => {
    try {
      await onChoose(row)
      setChosen(chosen + 1)
    } catch (error) {
      toast(error instanceof Error ? error.message : t('failed'), 'bad')
    }
  }
  return (
    <div class="finder">
      <SearchBox label={label} value={text} onSearch={setText} />
      <ProblemNotice problem={problem} />
      {value && (
        <ul aria-label={label}>
          {value.items.map(row => (
            <li key={idOf(row)}>
              <span>
                <bdi>{nameOf(row)}</bdi>
                {noteOf && (
                  <span class="soft small">
                    {' '}
                    <bdi>{noteOf(row)}</bdi>
                  </span>
                )}
              </span>
              <button
                type="button"
                class="button"
                aria-label={`${action}: ${nameOf(row)}`}
                onClick={() => choose(row)}
              >
                {action}
              </button>
            </li>
          ))}
          {value.total === 0 && <li class="soft">{t('empty')}</li>}
          {value.total > most && <li class="soft small">{t('finder.more', { n: value.total - most })}</li>}
        </ul>
      )}
    </div>
  )
}
