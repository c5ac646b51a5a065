import type { JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { Field } from '../../parts/Field.tsx'
import type { Group } from '../groups/groups.ts'
import { groups } from '../groups/groups.ts'

interface Parts {
  readonly label: string
  /** A rule such as `group:Curators`; the empty string selects the first choice. */
  readonly value: string
  readonly choices: readonly (readonly [rule: string, name: string])[]
  readonly onChange: (rule: string) => void
  readonly fault?: string | undefined
}

/** Time in ms without typing after which group names are suggested. */
const pause = 250

/** A rule for access: one of the choices, or a group by its name. */
export function RuleField({ label, value, choices, onChange, fault }: Parts): JSX.Element {
  const isGroup = value.startsWith('group:')
  const name = isGroup ? value.slice('group:'.length) : ''
  return (
    <div class="stack rule">
      <Field label={label} fault={isGroup ? undefined : fault}>
        <select value={isGroup ? 'group:' : value} onChange={event => onChange(event.currentTarget.value)}>
          {choices.map(([rule, text]) => (
            <option key={rule} value={rule}>
              {text}
            </option>
          ))}
          <option value="group:">{a('rule.a-group')}</option>
        </select>
      </Field>
      {isGroup && <GroupName name={name} fault={fault} onName={next => onChange(`group:${next}`)} />}
    </div>
  )
}

function GroupName({
  name,
  onName,
  fault,
}: {
  readonly name: string
  readonly onName: (name: string) => void
  readonly fault: string | undefined
}): JSX.Element {
  const list = useId()
  const [known, setKnown] = useState<readonly string[]>([])
  useEffect(() => {
    const controller = new AbortController()
    const timer = setTimeout(async () => {
      try {
        const search = service.value.list<Group>(`${groups}/search/byMetadata`, { query: { query: name } })
        const { items } = await search.page(0, 20, controller.signal)
        setKnown(items.map(group => group.name))
      } catch {
        // Without suggestions, the name can still be typed.
      }
    }, pause)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [name])
  return (
    <>
      <Field label={a('group.name')} fault={fault}>
        <input
          required
          list={list}
          autoComplete="off"
          value={name}
          onInput={event => onName(event.currentTarget.value)}
        />
      </Field>
      <datalist id={list}>
        {known.map(one => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </>
  )
}

export const readChoices = (): readonly (readonly [string, string])[] => [
  ['anonymous', aOf('role', 'anonymous')],
  ['eperson', aOf('role', 'eperson')],
  ['admin', aOf('role', 'admin')],
]
