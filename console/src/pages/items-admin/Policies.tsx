import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a, aOf } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Plus } from '../../icons.ts'
import { Button, Form, Input, Select, Submit } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { Finder } from '../../parts/Finder.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Pending, ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { ChosenPerson } from '../../people/ChosenPerson.tsx'
import { type Group, groups } from '../../people/groups.ts'
import type { Person } from '../../people/people.ts'
import { dayInWords } from '../../people/rules.ts'
import { addPolicy, deletePolicy, loadPolicies, type Policy } from './items.ts'
import './items-admin.css'

/** The groups that everybody and every logged-in person belong to (docs/reference/http.md). */
export const anybody = '00000000-0000-8000-8000-000000000000'
export const loggedIn = '00000000-0000-8000-8000-000000000001'

interface PoliciesParts {
  readonly object: string
  readonly isItem?: boolean
}

/** The policies of an item or a file, in sentences. */
export function Policies({ object, isItem = false }: PoliciesParts): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadPolicies(object, signal), [object])
  const [adding, setAdding] = useState(false)
  if (problem || !value) return <Pending problem={problem} retry={reload} lines={2} />
  return (
    <div class="stack">
      <p class="soft">{value.length === 0 ? a('policies.none') : a('policies.administrators')}</p>
      {value.length > 0 && (
        <ul class="policies">
          {value.map(policy => (
            <OnePolicy key={policy.id} policy={policy} onChange={reload} />
          ))}
        </ul>
      )}
      {adding ? (
        <NewPolicy
          object={object}
          isItem={isItem}
          onDone={() => {
            setAdding(false)
            reload()
          }}
          onCancel={() => setAdding(false)}
        />
      ) : (
        <div>
          <Button icon={Plus} label={a('policies.add')} onClick={() => setAdding(true)} />
        </div>
      )}
    </div>
  )
}

interface OnePolicyParts {
  readonly policy: Policy
  readonly onChange: () => void
}

function OnePolicy({ policy, onChange }: OnePolicyParts): JSX.Element {
  const words = inWords(policy)
  const work = useWork(async () => {
    await deletePolicy(policy.id)
    toast(a('policies.removed'))
    onChange()
  })
  return (
    <li>
      <bdi>{words}</bdi>
      <Button look="link" label={t('remove')} aria-busy={work.busy} of={words} onClick={work.run} />
      <ProblemNotice problem={work.problem} />
    </li>
  )
}

function inWords({ action, startDate, endDate, _embedded: { group, eperson } }: Policy): string {
  const reader = eperson
    ? a('rule.person', { name: eperson.email })
    : group === null
      ? a('policies.gone')
      : group.uuid === anybody
        ? aOf('role', 'anonymous')
        : group.uuid === loggedIn
          ? aOf('role', 'eperson')
          : a('rule.group', { name: group.name })
  return [
    a(action === 'WRITE' ? 'policies.write' : 'policies.read', { reader }),
    ...(startDate ? [a('rule.from', { day: dayInWords(startDate) })] : []),
    ...(endDate ? [a('rule.until', { day: dayInWords(endDate) })] : []),
  ].join(' ')
}

interface NewParts {
  readonly object: string
  readonly isItem: boolean
  readonly onDone: () => void
  readonly onCancel: () => void
}

function NewPolicy({ object, isItem, onDone, onCancel }: NewParts): JSX.Element {
  const [who, setWho] = useState<'anybody' | 'logged-in' | 'group' | 'person'>('anybody')
  const [group, setGroup] = useState<Group>()
  const [person, setPerson] = useState<Person>()
  const [action, setAction] = useState<Policy['action']>('READ')
  const [days, setDays] = useState({ from: '', until: '' })
  const uuids = { anybody, 'logged-in': loggedIn, group: group?.uuid, person: person?.uuid }
  const uuid = uuids[who]
  const work = useWork(async () => {
    if (uuid === undefined) return
    await addPolicy(object, who === 'person' ? { eperson: uuid } : { group: uuid }, {
      action,
      startDate: days.from || null,
      endDate: days.until || null,
    })
    toast(a('policies.added'))
    onDone()
  })
  const isReversed = days.from !== '' && days.until !== '' && days.from > days.until
  const day = (name: 'from' | 'until', label: string) => (
    <Field label={label} fault={isReversed && name === 'until' ? a('policies.reversed') : undefined}>
      <Input type="date" value={days[name]} onText={text => setDays({ ...days, [name]: text })} />
    </Field>
  )
  return (
    <Form class="new-policy" onSubmit={() => !isReversed && work.run()}>
      <div class="fields">
        <Field label={a('policies.who')}>
          <Select
            value={who}
            onChoose={setWho}
            options={[
              ['anybody', aOf('role', 'anonymous')],
              ['logged-in', aOf('role', 'eperson')],
              ['group', a('rule.a-group')],
              ['person', a('rule.a-person')],
            ]}
          />
        </Field>
        {isItem && (
          <Field label={a('policies.what')}>
            <Select
              value={action}
              onChoose={chosen => setAction(chosen === 'WRITE' ? 'WRITE' : 'READ')}
              options={[
                ['READ', a('policies.may-read')],
                ['WRITE', a('policies.may-write')],
              ]}
            />
          </Field>
        )}
        {day('from', a('policies.from'))}
        {day('until', a('policies.until'))}
      </div>
      {who === 'group' && <ChosenGroup group={group} onChange={setGroup} />}
      {who === 'person' && <ChosenPerson person={person} onChange={setPerson} />}
      <ProblemNotice problem={work.problem} />
      <div class="row">
        <Submit
          label={a('policies.add.do')}
          aria-disabled={uuid === undefined || isReversed}
          busy={work.busy}
        />
        <Button label={t('cancel')} onClick={onCancel} />
      </div>
    </Form>
  )
}

interface ChosenGroupParts {
  readonly group: Group | undefined
  readonly onChange: (group: Group | undefined) => void
}

/** Finds a group to choose, or shows the chosen one. */
export const ChosenGroup = ({ group, onChange }: ChosenGroupParts): JSX.Element =>
  group ? (
    <p>
      {a('rule.group', { name: group.name })}{' '}
      <Button look="link" label={a('change')} onClick={() => onChange(undefined)} />
    </p>
  ) : (
    <Finder<Group>
      label={a('groups.search')}
      path={`${groups}/search/byMetadata`}
      nameOf={({ name }) => name}
      idOf={one => one.uuid}
      onChoose={onChange}
    />
  )
