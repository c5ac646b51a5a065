import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import {
  type Change,
  changeDeclared,
  type Relation,
  relationInWords,
  type Tagged,
  wrongMember,
} from '../../administration/declared.ts'
import { CarrelProblem } from '../../api.ts'
import { loadEntities } from '../../entities.ts'
import { printExactly } from '../../exact.ts'
import { a } from '../../i18n/admin.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Button, Form, Input, Submit, TextArea } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { Section } from '../../parts/Page.tsx'
import { Notice, ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { useTyped } from '../../parts/typed.ts'
import { RuleField, readChoices } from '../../people/RuleField.tsx'
import { readersInWords } from '../../people/rules.ts'
import { Relations } from './Relations.tsx'
import './entities-admin.css'

interface Values {
  readonly description: string
  readonly read: string
  readonly write: string
  readonly condition: string
  readonly relations: readonly Relation[]
}

const valuesOf = ({ entity }: Tagged): Values => ({
  description: entity.description ?? '',
  read: entity.read,
  write: entity.write ?? '',
  condition: entity.defaultCondition === null ? '' : printExactly(entity.defaultCondition),
  relations: entity.relations,
})

interface DeclarationsParts {
  readonly tagged: Tagged
  readonly onChange: () => void
}

/** A form with everything that an administrator declares about an entity. */
export function Declarations({ tagged, onChange }: DeclarationsParts): JSX.Element {
  const start = valuesOf(tagged)
  const [values, setValues] = useTyped(start)
  const [unmatched, setUnmatched] = useState<readonly Relation[]>([])
  const set = (change: Partial<Values>) => setValues({ ...values, ...change })
  const { entity, tag } = tagged
  const isSame = JSON.stringify(values) === JSON.stringify(start)
  const work = useWork(async () => {
    const change = changeFrom(start, values)
    const { relations, warnings = [] } = await changeDeclared(entity.name, change, tag)
    setUnmatched(warnings.flatMap(({ member }) => relations[Number(member.split('/')[2])] ?? []))
    toast(a('saved'))
    await loadEntities().catch(() => {})
    onChange()
  })
  const wrong = wrongMember(work.problem)
  const faultAt = (member: string) =>
    wrong?.startsWith(`/${member}`) && work.problem instanceof CarrelProblem ? work.problem.detail : undefined
  return (
    <Form class="declarations" onSubmit={() => !isSame && work.run()}>
      <Section title={a('declare.about')}>
        <Field label={a('declare.description')} fault={faultAt('description')}>
          <TextArea
            rows={3}
            maxLength={2_000}
            value={values.description}
            onText={description => set({ description })}
          />
        </Field>
      </Section>
      <Section title={a('declare.access')}>
        <div class="fields">
          <RuleField
            persons
            label={a('declare.read')}
            value={values.read}
            choices={readChoices()}
            onChange={read => set({ read })}
            fault={faultAt('read')}
          />
          {entity.source === 'imported' && (
            <RuleField
              persons
              label={a('declare.write')}
              value={values.write}
              choices={[['', a('declare.nobody')], ...readChoices().slice(1)]}
              onChange={write => set({ write })}
              fault={faultAt('write')}
            />
          )}
        </div>
        {entity.source === 'imported' && <Writing rule={values.write} />}
      </Section>
      <Section title={a('declare.relations')} help={a('declare.relations.help')}>
        <Relations entity={entity} relations={values.relations} onChange={relations => set({ relations })} />
        {faultAt('relations') && <Notice tone="bad">{faultAt('relations')}</Notice>}
        {unmatched.map(relation => (
          <Unmatched key={relation.to.entity} name={entity.name} relation={relation} />
        ))}
      </Section>
      <Section title={a('declare.condition')}>
        <Field
          label={a('declare.condition.label')}
          hint={a('declare.condition.hint')}
          fault={faultAt('defaultCondition')}
        >
          <Input
            class="code-input"
            spellcheck={false}
            autoComplete="off"
            value={values.condition}
            placeholder='state = "active"'
            onText={condition => set({ condition })}
          />
        </Field>
      </Section>
      <StaleOr problem={work.problem} isShown={wrong === undefined} onReload={onChange} />
      <div class="row">
        <Submit label={t('save')} aria-disabled={isSame} busy={work.busy} />
        {!isSame && <Button label={t('cancel')} onClick={() => setValues(start)} />}
      </div>
    </Form>
  )
}

interface UnmatchedParts {
  readonly name: string
  readonly relation: Relation
}

const Unmatched = ({ name, relation }: UnmatchedParts): JSX.Element => (
  <Notice tone="warn">
    {a('relation.unmatched', {
      relation: relationInWords(relation),
      name: tOf('entity', name),
      other: tOf('entity', relation.to.entity),
    })}
  </Notice>
)

/** Says what it means that records can be written, or that they can't. */
const Writing = ({ rule }: { readonly rule: string }): JSX.Element => (
  <ul class="writing soft small">
    {rule === '' ? (
      <li>{a('declare.writing.nobody')}</li>
    ) : (
      <>
        <li>{a('declare.writing.who', { who: readersInWords(rule) })}</li>
        <li>{a('declare.writing.import')}</li>
        <li>{a('declare.writing.history')}</li>
      </>
    )}
  </ul>
)

interface Parts {
  readonly problem: unknown
  /** False if the reason stands elsewhere. */
  readonly isShown?: boolean
  readonly onReload: () => void
}

/** Says why a change failed, and offers what is there now if others were faster. */
export const StaleOr = ({ problem, isShown = true, onReload }: Parts): JSX.Element | null => {
  if (!(problem instanceof CarrelProblem && problem.status === 412))
    return isShown ? <ProblemNotice problem={problem} /> : null
  return (
    <Notice tone="warn">
      {a('declare.stale')} <Button look="link" label={a('declare.stale.do')} onClick={onReload} />
    </Notice>
  )
}

/** Returns only the values that changed. */
function changeFrom(before: Values, after: Values): Change {
  const isOther = (name: keyof Values) => JSON.stringify(before[name]) !== JSON.stringify(after[name])
  const condition = after.condition.trim()
  return {
    ...(isOther('description') && { description: after.description.trim() || null }),
    ...(isOther('read') && { read: after.read }),
    ...(isOther('write') && { write: after.write || null }),
    ...(isOther('relations') && { relations: after.relations }),
    // The condition is sent as text, so that its numbers keep their digits.
    ...(isOther('condition') && { defaultCondition: condition || null }),
  }
}
