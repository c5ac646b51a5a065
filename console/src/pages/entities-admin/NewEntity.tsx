import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CarrelProblem, service } from '../../api.ts'
import { loadEntities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Plus, X } from '../../icons.ts'
import { Field } from '../../parts/Field.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useWork } from '../../parts/load.ts'
import { Page } from '../../parts/Page.tsx'
import { ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { go, href } from '../../router.ts'
import { addressOf, adminPath, type DeclaredField, wrongMember } from './declared.ts'
import { declaredOf, FieldForm, type TypedField, typedOf, types } from './FieldForm.tsx'
import { RuleField, readChoices } from './RuleField.tsx'
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
  ...{ id: ++last, name, type: isKey ? 'integer' : 'text', isKey },
  typed: typedOf({}),
})

/** A collection of records made without a file. */
function NewEntity(): JSX.Element {
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
  const work = useWork(async () => {
    const given = fields.filter(one => one.name.trim() !== '')
    await service.value.request('PUT', addressOf(name.trim()), {
      body: JSON.stringify({
        ...(description.trim() !== '' && { description: description.trim() }),
        ...{ read, write: write || null },
        key: given.filter(one => one.isKey).map(one => one.name.trim()),
        fields: given.map(one => ({
          ...{ name: one.name.trim(), type: one.type },
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
  const given = fields.filter(one => one.name.trim() !== '')
  const isWhole = name.trim() !== '' && given.some(one => one.isKey)
  return (
    <Page
      title={a('new-entity.title')}
      lead={a('new-entity.lead')}
      crumbs={[[a('entities.title'), href('admin/entities')]]}
      narrow
    >
      <form
        class="declarations"
        onSubmit={event => {
          event.preventDefault()
          if (isWhole) work.run()
        }}
      >
        <Field
          label={a('entity.name')}
          hint={a('new-entity.name.hint')}
          fault={wrong === '' ? detail : undefined}
        >
          <input
            autoComplete="off"
            spellcheck={false}
            maxLength={63}
            value={name}
            onInput={event => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label={a('declare.description')} fault={faultOf('/description')}>
          <textarea
            rows={2}
            maxLength={2_000}
            value={description}
            onInput={event => setDescription(event.currentTarget.value)}
          />
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
        <section class="section">
          <h2>{a('entity.fields')}</h2>
          <p class="soft">{a('new-entity.fields.help')}</p>
          <ol class="new-fields">
            {fields.map((field, at) => {
              const place = given.indexOf(field)
              const title = field.name.trim() || a('new-entity.field', { n: at + 1 })
              return (
                <li key={field.id} class="new-relation">
                  <div class="fields">
                    <Field
                      label={a('field.name')}
                      fault={place < 0 ? undefined : faultOf(`/fields/${place}/name`)}
                    >
                      <input
                        autoComplete="off"
                        spellcheck={false}
                        maxLength={1_000}
                        value={field.name}
                        onInput={event => set(field.id, { name: event.currentTarget.value })}
                      />
                    </Field>
                    <Field label={a('field.type')}>
                      <select
                        value={field.type}
                        onChange={event =>
                          set(field.id, { type: event.currentTarget.value as NewField['type'] })
                        }
                      >
                        {types.map(type => (
                          <option key={type} value={type}>
                            {tOf('type', type)}
                          </option>
                        ))}
                      </select>
                    </Field>
                  </div>
                  <div class="row spread">
                    <label class="check">
                      <input
                        type="checkbox"
                        checked={field.isKey}
                        onChange={event => set(field.id, { isKey: event.currentTarget.checked })}
                      />
                      {a('new-entity.key')}
                    </label>
                    <button
                      type="button"
                      class="button quiet icon"
                      aria-label={`${t('remove')}: ${title}`}
                      onClick={() => setFields(fields.filter(one => one !== field))}
                    >
                      <Icon of={X} size={16} />
                    </button>
                  </div>
                  <details open={place >= 0 && faultOf(`/fields/${place}/`) !== undefined ? true : undefined}>
                    <summary>{a('new-entity.more', { name: title })}</summary>
                    <FieldForm
                      entity={name.trim()}
                      type={field.type}
                      typed={field.typed}
                      onChange={typed => set(field.id, { typed })}
                      faultAt={member => (place < 0 ? undefined : faultOf(`/fields/${place}/${member}`))}
                    />
                  </details>
                </li>
              )
            })}
          </ol>
          <div>
            <button
              type="button"
              class="button"
              onClick={() => setFields([...fields, fieldNamed('', false)])}
            >
              <Icon of={Plus} />
              {a('new-entity.add')}
            </button>
          </div>
        </section>
        <ProblemNotice problem={work.problem} />
        <div class="row">
          <button type="submit" class="button primary" aria-disabled={!isWhole} aria-busy={work.busy}>
            {a('new-entity.do')}
          </button>
          <a class="button" href={href('admin/entities')}>
            {t('cancel')}
          </a>
        </div>
      </form>
    </Page>
  )
}

export default NewEntity
