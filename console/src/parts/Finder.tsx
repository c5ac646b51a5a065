import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../api.ts'
import { t } from '../i18n/i18n.ts'
import { Combobox, most } from './Combobox.tsx'
import { Field } from './Field.tsx'
import { toast } from './toast.tsx'

interface Parts<Row> {
  readonly label: string
  /** Path of a search of the service that takes `query`. */
  readonly path: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly nameOf: (row: Row) => string
  /** Returns a note that tells the row from others of the same name. */
  readonly noteOf?: (row: Row) => string
  readonly idOf: (row: Row) => string
  readonly onChoose: (row: Row) => Promise<unknown> | unknown
}

/** Finds one row of many, such as a person for a group. The row that is chosen is acted on at once. */
export function Finder<Row>(parts: Parts<Row>): JSX.Element {
  const { label, path, parameters = {}, onChoose, ...rows } = parts
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const choose = async (row: Row) => {
    setText('')
    try {
      await onChoose(row)
      setChosen(chosen + 1)
    } catch (error) {
      toast(error instanceof Error ? error.message : t('failed'), 'bad')
    }
  }
  const find = async (typed: string, signal: AbortSignal) => {
    const query = { ...parameters, query: typed.trim() }
    return service.value.list<Row>(path, { query }).page(0, most, signal)
  }
  return (
    <Field label={label} class="finder">
      <Combobox<Row>
        {...rows}
        text={text}
        find={find}
        listLabel={label}
        first={-1}
        on={`${path} ${JSON.stringify(parameters)} ${chosen}`}
        onText={setText}
        onTake={row => {
          choose(row).catch(() => {})
        }}
      />
    </Field>
  )
}
