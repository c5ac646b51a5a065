import type { JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { service } from '../api.ts'
import { a, aOf } from '../i18n/admin.ts'
import { Input, Select } from '../parts/controls.tsx'
import { Field } from '../parts/Field.tsx'
import { useLoad } from '../parts/load.ts'
import { Loading, ProblemNotice } from '../parts/states.tsx'
import { ChosenPerson } from './ChosenPerson.tsx'
import type { Group } from './groups.ts'
import { groups } from './groups.ts'
import { loadPerson } from './people.ts'

interface Parts {
  readonly label: string
  /** A rule such as `group:Curators` or `eperson:<uuid>`; the empty string selects the first choice. */
  readonly value: string
  readonly choices: readonly (readonly [rule: string, name: string])[]
  readonly onChange: (rule: string) => void
  readonly fault?: string | undefined
  /** True if rules may be for one person, too. */
  readonly persons?: boolean
}

/** Time in ms without typing after which group names are suggested. */
const pause = 250

/** A rule for access: one of the choices, a group by its name, or a person. */
export function RuleField({ label, value, choices, onChange, fault, persons = false }: Parts): JSX.Element {
  const [, kind, name = ''] = /^(group:|eperson:)(.*)$/s.exec(value) ?? []
  const isGroup = kind === 'group:'
  return (
    <div class="stack rule">
      <Field label={label} fault={isGroup ? undefined : fault}>
        <Select
          value={kind ?? value}
          onChoose={onChange}
          options={[
            ...choices,
            ['group:', a('rule.a-group')],
            ...(persons ? [['eperson:', a('rule.a-person')] as const] : []),
          ]}
        />
      </Field>
      {isGroup && <GroupName name={name} fault={fault} onName={next => onChange(`group:${next}`)} />}
      {kind === 'eperson:' && <OnePerson uuid={name} onChange={uuid => onChange(`eperson:${uuid}`)} />}
    </div>
  )
}

interface OnePersonParts {
  readonly uuid: string
  readonly onChange: (uuid: string) => void
}

/** The person with a UUID; '' if one has yet to be chosen. */
function OnePerson({ uuid, onChange }: OnePersonParts): JSX.Element {
  const { value, problem } = useLoad(
    async signal => (uuid === '' ? undefined : await loadPerson(uuid, signal)),
    [uuid],
  )
  if (problem) return <ProblemNotice problem={problem} />
  if (uuid !== '' && value?.uuid !== uuid) return <Loading lines={1} />
  return <ChosenPerson person={value} onChange={person => onChange(person?.uuid ?? '')} />
}

interface GroupNameParts {
  readonly name: string
  readonly onName: (name: string) => void
  readonly fault: string | undefined
}

function GroupName({ name, onName, fault }: GroupNameParts): JSX.Element {
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
        <Input required list={list} autoComplete="off" value={name} onText={onName} />
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
