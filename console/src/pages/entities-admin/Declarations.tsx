import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CarrelProblem } from '../../api.ts'
import { loadEntities } from '../../entities.ts'
import { printExactly } from '../../exact.ts'
import { a } from '../../i18n/admin.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Field } from '../../parts/Field.tsx'
import { useWork } from '../../parts/load.ts'
import { Notice, ProblemNotice } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { useTyped } from '../../parts/typed.ts'
import {
  type Change,
  changeDeclared,
  type Relation,
  relationInWords,
  type Tagged,
  wrongMember,
} from './declared.ts'
import { Relations } from './Relations.tsx'
import { RuleField, readChoices } from './RuleField.tsx'
import { readersInWords } from './rules.ts'
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

/** A form with everything that an administrator declares about an entity. */
export function Declarations({
  tagged,
  onChange,
}: {
  readonly tagged: Tagged
  readonly onChange: () => void
}): JSX.Element {
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
  const isStale = work.problem instanceof CarrelProblem && work.problem.status === 412
  return (
    <form
      class="declarations"
      onSubmit={event => {
        event.preventDefault()
        if (!isSame) work.run()
      }}
    >
      <section class="section">
        <h2>{a('declare.about')}</h2>
        <Field label={a('declare.description')} fault={faultAt('description')}>
          <textarea
            rows={3}
            maxLength={2_000}
            value={values.description}
            onInput={event => set({ description: event.currentTarget.value })}
          />
        </Field>
      </section>
      <section class="section">
        <h2>{a('declare.access')}</h2>
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
      </section>
      <section class="section">
        <h2>{a('declare.relations')}</h2>
        <p class="soft">{a('declare.relations.help')}</p>
        <Relations entity={entity} relations={values.relations} onChange={relations => set({ relations })} />
        {faultAt('relations') && <Notice tone="bad">{faultAt('relations')}</Notice>}
        {unmatched.map(relation => (
          <Notice key={relation.to.entity} tone="warn">
            {a('relation.unmatched', {
              relation: relationInWords(relation),
              name: tOf('entity', entity.name),
              other: tOf('entity', relation.to.entity),
            })}
          </Notice>
        ))}
      </section>
      <section class="section">
        <h2>{a('declare.condition')}</h2>
        <Field
          label={a('declare.condition.label')}
          hint={a('declare.condition.hint')}
          fault={faultAt('defaultCondition')}
        >
          <input
            class="code-input"
            spellcheck={false}
            autoComplete="off"
            value={values.condition}
            placeholder='state = "active"'
            onInput={event => set({ condition: event.currentTarget.value })}
          />
        </Field>
      </section>
      {isStale ? (
        <Notice tone="warn">
          {a('declare.stale')}{' '}
          <button type="button" class="link-button" onClick={onChange}>
            {a('declare.stale.do')}
          </button>
        </Notice>
      ) : (
        wrong === undefined && <ProblemNotice problem={work.problem} />
      )}
      <div class="row">
        <button type="submit" class="button primary" aria-disabled={isSame} aria-busy={work.busy}>
          {t('save')}
        </button>
        {!isSame && (
          <button type="button" class="button" onClick={() => setValues(start)}>
            {t('cancel')}
          </button>
        )}
      </div>
    </form>
  )
}

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
