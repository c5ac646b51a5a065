import type { ComponentChildren, JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import { entities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { formatNumber, tOf } from '../../i18n/i18n.ts'
import { inOrder } from '../../in-order.ts'
import { Button, Form, Input, NameLink, Submit } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { Finder } from '../../parts/Finder.tsx'
import { useLoad } from '../../parts/load.ts'
import { Section } from '../../parts/Page.tsx'
import { Loading, Notice, Pending } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { addMember, type Group, groups } from '../../people/groups.ts'
import {
  type Access,
  type Asked,
  loadAccess,
  type May,
  nameOf,
  noQuestion,
  type Person,
  type Reason,
  textOf,
} from '../../people/people.ts'
import { readersInWords } from '../../people/rules.ts'
import { loadItem, loadItems } from '../../records/items.ts'
import '../../people/people.css'

/**
 * The groups of a person with the reasons, and the access they would have from a given address or login
 * method.
 */
export function AccessView({ person }: { readonly person: Person }): JSX.Element {
  const [asked, setAsked] = useState(noQuestion)
  const { value, problem, reload } = useLoad(
    signal => loadAccess(person.uuid, asked, signal),
    [person, JSON.stringify(asked)],
  )
  return (
    <>
      <Section title={a('access.groups')}>
        {value ? <Groups access={value} /> : !problem && <Loading lines={3} />}
        <Finder<Group>
          label={a('person.join')}
          path={`${groups}/search/byMetadata`}
          nameOf={({ name }) => name}
          noteOf={({ metadata }) => textOf(metadata, 'dc.description')}
          idOf={({ uuid }) => uuid}
          onChoose={async group => {
            await addMember(group.uuid, 'epersons', person.uuid)
            toast(a('person.joined', { name: nameOf(person), group: group.name }))
            reload()
          }}
        />
      </Section>
      <Section title={a('access.title')}>
        <Question asked={asked} onAsk={setAsked} />
        {problem || !value ? <Pending problem={problem} retry={reload} /> : <Sees access={value} />}
      </Section>
    </>
  )
}

interface QuestionParts {
  readonly asked: Asked
  readonly onAsk: (asked: Asked) => void
}

function Question({ asked, onAsk }: QuestionParts): JSX.Element {
  const [values, setValues] = useState(asked)
  const id = useId()
  // Items are found by their titles and identifiers; the service is asked for the UUID.
  const { value: items } = useLoad(
    async signal =>
      values.object.trim().length < 2 ? [] : (await loadItems(values.object, 1, signal)).records,
    [values.object],
  )
  const uuidOf = (text: string) =>
    items?.find(({ title, identifier }) => text === titleIn(title, identifier) || text === identifier)
      ?.uuid ?? text
  const input = (name: keyof Asked, label: string, hint?: string) => (
    <Field label={label} {...(hint ? { hint } : {})}>
      <Input
        list={`${id}-${name}`}
        value={values[name]}
        autoComplete="off"
        spellcheck={false}
        onText={text => setValues({ ...values, [name]: text })}
      />
    </Field>
  )
  return (
    <details class="question">
      <summary>{a('access.ask')}</summary>
      <Form class="stack form" onSubmit={() => onAsk({ ...values, object: uuidOf(values.object.trim()) })}>
        <div class="fields">
          {input('address', a('access.address'), a('access.address.hint'))}
          {input('method', a('access.method'), a('access.method.hint'))}
          {input('object', a('access.object'), a('access.object.hint'))}
          {input('entity', a('access.entity'))}
          {input('key', a('access.key'), a('access.key.hint'))}
        </div>
        <datalist id={`${id}-object`}>
          {items?.map(({ uuid, title, identifier }) => (
            <option key={uuid} value={titleIn(title, identifier)}>
              {identifier}
            </option>
          ))}
        </datalist>
        <datalist id={`${id}-entity`}>
          {inOrder(entities.value ?? []).map(({ name }) => (
            <option key={name} value={name}>
              {tOf('entity', name)}
            </option>
          ))}
        </datalist>
        <div class="row">
          <Submit label={a('access.ask.do')} />
          {asked !== noQuestion && (
            <Button
              label={a('access.ask.clear')}
              onClick={() => {
                setValues(noQuestion)
                onAsk(noQuestion)
              }}
            />
          )}
        </div>
      </Form>
    </details>
  )
}

const titleIn = (title: string | null, identifier: string): string => title ?? identifier

/** The title of an item; the UUID while it isn't known, and for a file. */
function TitleOf({ uuid }: { readonly uuid: string }): JSX.Element {
  const { value } = useLoad(signal => loadItem(uuid, signal).catch(() => undefined), [uuid])
  return <>{value?.title ?? uuid}</>
}

function Sees({ access }: { readonly access: Access }): JSX.Element {
  const { administrator, items, files, entities, object, record } = access
  const open = inOrder(entities.filter(({ read, write }) => read.may || write.may))
  const columns: readonly Column<Access['entities'][number]>[] = [
    {
      id: 'name',
      label: a('entity.name'),
      cell: ({ name }) => (
        <NameLink to={`admin/entities/${encodeURIComponent(name)}`} name={tOf('entity', name)} />
      ),
    },
    { id: 'read', label: a('access.read'), cell: ({ read }) => <MayView of={read} /> },
    { id: 'write', label: a('access.write'), cell: ({ write }) => <MayView of={write} /> },
  ]
  return (
    <div class="stack">
      {administrator && <Notice tone="warn">{a('access.administrator')}</Notice>}
      {object && <Asking what={<TitleOf uuid={object.uuid} />} {...object} />}
      {record && (
        <Asking what={[tOf('entity', record.entity), record.key ?? []].flat().join(' ')} {...record} />
      )}
      <p class="number">
        {a('access.items', { n: items })}, {a('access.files', { n: files })},{' '}
        {a('access.entities', { n: open.length, all: formatNumber(access.entitiesTotal) })}
      </p>
      {open.length > 0 && (
        <Table label={a('access.table')} columns={columns} rows={open} idOf={({ name }) => name} whole />
      )}
    </div>
  )
}

interface Parts {
  readonly what: ComponentChildren
  readonly read: May
  readonly write: May
}

const Asking = ({ what, read, write }: Parts) => (
  <div class="notice">
    <div class="stack">
      <strong>
        <bdi>{what}</bdi>
      </strong>
      <span>
        {a('access.read')}: <MayView of={read} />
      </span>
      <span>
        {a('access.write')}: <MayView of={write} />
      </span>
    </div>
  </div>
)

const MayView = ({ of: { may, because } }: { readonly of: May }): JSX.Element =>
  may ? (
    <span>
      <span class="tag good">{a('access.may')}</span>{' '}
      {because !== null && (
        <span class="soft small">
          <bdi>{because === 'administrator' ? a('access.by-administrator') : readersInWords(because)}</bdi>
        </span>
      )}
    </span>
  ) : (
    <span class="tag">{a('access.may-not')}</span>
  )

function Groups({ access: { groups, groupsTotal } }: { readonly access: Access }): JSX.Element {
  if (groups.length === 0) return <p class="soft">{a('access.no-groups')}</p>
  const columns: readonly Column<Access['groups'][number]>[] = [
    {
      id: 'name',
      label: a('group.name'),
      cell: ({ uuid, name }) => <NameLink to={`admin/groups/${uuid}`} name={name} />,
    },
    { id: 'why', label: a('access.why'), wrap: true, cell: ({ because }) => because.map(inWords).join('; ') },
  ]
  return (
    <>
      <Table label={a('access.groups')} columns={columns} rows={groups} idOf={({ uuid }) => uuid} whole />
      {groupsTotal > groups.length && <p class="soft">{a('more', { n: groupsTotal - groups.length })}</p>}
    </>
  )
}

function inWords(reason: Reason): string {
  if (reason.how === 'member') return a('why.member')
  if (reason.how === 'group') return a('why.group', { name: reason.group })
  if (reason.how === 'address') return a('why.address', { ranges: reason.ranges.join(', ') })
  return a('why.method', { method: tOf('method', reason.method) })
}
