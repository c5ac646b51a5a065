import type { JSX } from 'preact'
import { eventNames } from '../../../../src/model/audit-events.ts'
import type { Filter } from '../../administration/trail.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { tOf, zone } from '../../i18n/i18n.ts'
import { Button, Select } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { AddressSearch } from '../../parts/SearchBox.tsx'
import { query, setQuery } from '../../router.ts'
import './audit.css'

/** Reads the filter from the address. */
export const filterHere = (): Filter => {
  const of = (name: string) => query.value.get(name) ?? ''
  const day = (name: string) => (/^\d{4}-\d\d-\d\d$/.test(of(name)) ? of(name) : '')
  return {
    person: of('person'),
    event: of('event'),
    outcome: of('outcome'),
    from: day('from'),
    until: day('until'),
  }
}

/** Prefixes of event names; `login.` matches all events whose names begin with it. */
const kinds = [
  ...new Set(eventNames.filter(name => name.includes('.')).map(name => `${name.split('.', 1)[0]}.`)),
]

export function Filters({ filter }: { readonly filter: Filter }): JSX.Element {
  const set = (change: Partial<Filter>) => setQuery({ ...change, page: null }, { replace: true })
  const isEmpty = Object.values(filter).every(value => value === '')
  return (
    <div class="audit-filters">
      <div class="person">
        <AddressSearch label={a('audit.person')} name="person" />
      </div>
      <Field label={a('event.event')}>
        <select value={filter.event} onChange={event => set({ event: event.currentTarget.value })}>
          <option value="">{a('all')}</option>
          <optgroup label={a('audit.kinds')}>
            {kinds.map(kind => (
              <option key={kind} value={kind}>
                {aOf('topic', kind.slice(0, -1))}
              </option>
            ))}
          </optgroup>
          <optgroup label={a('audit.events')}>
            {eventNames.map(name => (
              <option key={name} value={name}>
                {tOf('event', name)}
              </option>
            ))}
          </optgroup>
        </select>
      </Field>
      <Field label={a('event.outcome')}>
        <Select
          value={filter.outcome}
          onChoose={chosen => set({ outcome: chosen })}
          options={[
            ['', a('all')],
            ['success', tOf('outcome', 'success')],
            ['failure', tOf('outcome', 'failure')],
          ]}
        />
      </Field>
      <Field label={a('audit.from', { zone })}>
        <input type="date" value={filter.from} onChange={event => set({ from: event.currentTarget.value })} />
      </Field>
      <Field label={a('audit.until', { zone })}>
        <input
          type="date"
          value={filter.until}
          onChange={event => set({ until: event.currentTarget.value })}
        />
      </Field>
      {!isEmpty && (
        <Button
          label={a('audit.clear')}
          onClick={() => set({ person: '', event: '', outcome: '', from: '', until: '' })}
        />
      )}
    </div>
  )
}
