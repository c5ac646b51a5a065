import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { addressOf, adminPath, type DeclaredField, wrongMember } from '../../administration/declared.ts'
import { CarrelProblem, service } from '../../api.ts'
import { loadEntities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Plus, X } from '../../icons.ts'
import { Button, Form, Input, LinkButton, Select, Submit, TextArea } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { Page, Section } from '../../parts/Page.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { RuleField, readChoices } from '../../people/RuleField.tsx'
import { go, href } from '../../router.ts'
import { declaredOf, FieldForm, type TypedField, typedOf, types } from './FieldForm.tsx'
import './entities-admin.css'

interface NewField {
  readonly id: number
  readonly name: string
  readonly type: DeclaredField['type']
  readonly isKey: boolean
  readonly typed: TypedField
}

let last = 0
const fieldNamed = (name: string, isKey: boolean): NewField => ({
  id: ++last,
  name,
  type: isKey ? 'integer' : 'text',
  isKey,
  typed: typedOf({}),
})

/** A collection of records made without a file. */
export default function NewEntity(): JSX.Element {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [read, setRead] = useState('admin')
  const [write, setWrite] = useState('admin')
  const [fields, setFields] = useState<readonly NewField[]>(() => [
    fieldNamed('id', true),
    fieldNamed('', false),
  ])
  const set = (id: number, change: Partial<NewField>) =>
    setFields(fields.map(one => (one.id === id ? { ...one, ...change } : one)))
  const given = fields.filter(one => one.name.trim() !== '')
  const work = useWork(async () => {
    await service.value.request('PUT', addressOf(name.trim()), {
      body: JSON.stringify({
        ...(description.trim() !== '' && { description: description.trim() }),
        read,
        write: write || null,
        key: given.filter(one => one.isKey).map(one => one.name.trim()),
        fields: given.map(one => ({
          name: one.name.trim(),
          type: one.type,
          ...declaredOf(one.typed, one.type),
        })),
      }),
      headers: { 'content-type': 'application/json', 'if-none-match': '*' },
    })
    await loadEntities().catch(() => {})
    toast(a('new-entity.made', { name: name.trim() }))
    go(adminPath(name.trim()))
  })
  const wrong = wrongMember(work.problem)
  const detail = work.problem instanceof CarrelProblem ? work.problem.detail : undefined
  const faultOf = (member: string) => (wrong?.startsWith(member) ? detail : undefined)
  const isWhole = name.trim() !== '' && given.some(one => one.isKey)
  return (
    <Page
      title={a('new-entity.title')}
      lead={a('new-entity.lead')}
      crumbs={[[a('entities.title'), href('admin/entities')]]}
      narrow
    >
      <Form class="declarations" onSubmit={() => isWhole && work.run()}>
        <Field
          label={a('entity.name')}
          hint={a('new-entity.name.hint')}
          fault={wrong === '' ? detail : undefined}
        >
          <Input autoComplete="off" spellcheck={false} maxLength={63} value={name} onText={setName} />
        </Field>
        <Field label={a('declare.description')} fault={faultOf('/description')}>
          <TextArea rows={2} maxLength={2_000} value={description} onText={setDescription} />
        </Field>
        <div class="fields">
          <RuleField
            persons
            label={a('declare.read')}
            value={read}
            choices={readChoices()}
            onChange={setRead}
            fault={faultOf('/read')}
          />
          <RuleField
            persons
            label={a('declare.write')}
            value={write}
            choices={[['', a('declare.nobody')], ...readChoices().slice(1)]}
            onChange={setWrite}
            fault={faultOf('/write')}
          />
        </div>
        <Section title={a('entity.fields')} help={a('new-entity.fields.help')}>
          <ol class="new-fields">
            {fields.map((field, at) => {
              const place = given.indexOf(field)
              return (
                <FieldItem
                  key={field.id}
                  entity={name.trim()}
                  field={field}
                  title={field.name.trim() || a('new-entity.field', { n: at + 1 })}
                  faultOf={member => (place < 0 ? undefined : faultOf(`/fields/${place}/${member}`))}
                  onChange={change => set(field.id, change)}
                  onRemove={() => setFields(fields.filter(one => one !== field))}
                />
              )
            })}
          </ol>
          <div>
            <Button
              icon={Plus}
              label={a('new-entity.add')}
              onClick={() => setFields([...fields, fieldNamed('', false)])}
            />
          </div>
        </Section>
        <ProblemNotice problem={work.problem} />
        <div class="row">
          <Submit label={a('new-entity.do')} aria-disabled={!isWhole} busy={work.busy} />
          <LinkButton label={t('cancel')} to={'admin/entities'} />
        </div>
      </Form>
    </Page>
  )
}

interface Parts {
  readonly entity: string
  readonly field: NewField
  readonly title: string
  /** @param member the empty string: any member */
  readonly faultOf: (member: string) => string | undefined
  readonly onChange: (change: Partial<NewField>) => void
  readonly onRemove: () => void
}

function FieldItem({ entity, field, title, faultOf, onChange, onRemove }: Parts): JSX.Element {
  return (
    <li class="new-relation">
      <div class="fields">
        <Field label={a('field.name')} fault={faultOf('name')}>
          <Input
            autoComplete="off"
            spellcheck={false}
            maxLength={1_000}
            value={field.name}
            onText={name => onChange({ name })}
          />
        </Field>
        <Field label={a('field.type')}>
          <Select
            value={field.type}
            onChoose={type => onChange({ type })}
            options={types.map(type => [type, tOf('type', type)])}
          />
        </Field>
      </div>
      <div class="row spread">
        <label class="check">
          <input
            type="checkbox"
            checked={field.isKey}
            onChange={event => onChange({ isKey: event.currentTarget.checked })}
          />
          {a('new-entity.key')}
        </label>
        <Button look="icon" icon={X} size={16} aria-label={`${t('remove')}: ${title}`} onClick={onRemove} />
      </div>
      <details open={faultOf('') !== undefined ? true : undefined}>
        <summary>{a('new-entity.more', { name: title })}</summary>
        <FieldForm
          entity={entity}
          type={field.type}
          typed={field.typed}
          onChange={typed => onChange({ typed })}
          faultAt={faultOf}
        />
      </details>
    </li>
  )
}
