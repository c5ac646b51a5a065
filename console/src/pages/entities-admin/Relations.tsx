import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Declared, type Relation, relationInWords } from '../../administration/declared.ts'
import { entities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Plus, X } from '../../icons.ts'
import { inOrder } from '../../in-order.ts'
import { Button, Input, Select } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad } from '../../parts/load.ts'
import { pathsIn } from './paths.ts'

interface Parts {
  readonly entity: Declared
  readonly relations: readonly Relation[]
  readonly onChange: (relations: readonly Relation[]) => void
}

/** An editor for the fields that refer to records of other entities. */
export function Relations({ entity, relations, onChange }: Parts): JSX.Element {
  const [adding, setAdding] = useState(false)
  const said = new Set(relations.map(relationInWords))
  const others = entity.related.filter(
    one => !entity.relations.some(own => relationInWords(own) === relationInWords(one)),
  )
  const suggested = (entity.suggested ?? []).filter(one => !said.has(relationInWords(one)))
  return (
    <div class="stack">
      {relations.length > 0 && (
        <ul class="relations">
          {relations.map(relation => (
            <li key={relationInWords(relation)}>
              <bdi>{relationInWords(relation)}</bdi>
              <Button
                look="icon"
                icon={X}
                size={16}
                aria-label={`${t('remove')}: ${relationInWords(relation)}`}
                onClick={() => onChange(relations.filter(one => one !== relation))}
              />
            </li>
          ))}
        </ul>
      )}
      {others.map(relation => (
        <p key={relationInWords(relation)} class="soft small">
          {a('relation.elsewhere', { name: relation.to.entity })} <bdi>{relationInWords(relation)}</bdi>
        </p>
      ))}
      {suggested.map(relation => (
        <p key={relationInWords(relation)}>
          {a('relation.suggested')} <bdi>{relationInWords(relation)}</bdi>{' '}
          <Button look="link" label={a('add')} onClick={() => onChange([...relations, relation])} />
        </p>
      ))}
      {adding ? (
        <NewRelation
          entity={entity}
          onAdd={relation => {
            onChange([...relations, relation])
            setAdding(false)
          }}
          onCancel={() => setAdding(false)}
        />
      ) : (
        <div>
          <Button icon={Plus} label={a('relation.add')} onClick={() => setAdding(true)} />
        </div>
      )}
    </div>
  )
}

interface NewRelationParts {
  readonly entity: Declared
  readonly onAdd: (relation: Relation) => void
  readonly onCancel: () => void
}

function NewRelation({ entity, onAdd, onCancel }: NewRelationParts): JSX.Element {
  const others = inOrder(entities.value ?? []).filter(({ name }) => name !== entity.name)
  const [to, setTo] = useState(others[0]?.name ?? '')
  const target = others.find(({ name }) => name === to)
  const [pairs, setPairs] = useState<readonly (readonly [string, string])[]>([['', '']])
  const set = (at: number, pair: readonly [string, string]) =>
    setPairs(pairs.map((one, place) => (place === at ? pair : one)))
  const isWhole = target !== undefined && pairs.every(([one, other]) => one !== '' && other !== '')
  return (
    <div class="new-relation">
      <Field label={a('relation.to')}>
        <Select
          value={to}
          onChoose={chosen => {
            setTo(chosen)
            setPairs([['', '']])
          }}
          options={others.map(({ name }) => [name, tOf('entity', name)])}
        />
      </Field>
      {pairs.map(([one, other], at) => (
        <div key={at} class="fields">
          <Side label={a('relation.own')} of={entity} value={one} onValue={name => set(at, [name, other])} />
          {target && (
            <Side
              key={to}
              label={a('relation.its', { name: tOf('entity', to) })}
              of={target}
              value={other}
              onValue={name => set(at, [one, name])}
            />
          )}
        </div>
      ))}
      <div class="row">
        <Button
          label={a('relation.add.do')}
          aria-disabled={!isWhole}
          onClick={() =>
            isWhole &&
            onAdd({
              fields: pairs.map(([one]) => one),
              to: { entity: to, fields: pairs.map(([, other]) => other) },
            })
          }
        />
        <Button look="quiet" label={a('relation.more')} onClick={() => setPairs([...pairs, ['', '']])} />
        <Button look="quiet" label={t('cancel')} onClick={onCancel} />
      </div>
    </div>
  )
}

/** Stands for a path that is typed. */
const typed = '\0'

interface SideParts {
  readonly label: string
  readonly of: Pick<Declared, 'name' | 'fields'>
  readonly value: string
  readonly onValue: (value: string) => void
}

/** A choice of a field, of a path that records have inside of one, or of a path that is typed. */
function Side({ label, of: { name, fields }, value, onValue }: SideParts): JSX.Element {
  const [isTyped, setTyped] = useState(false)
  const found = useLoad(signal => pathsIn(name, fields, signal), [name])
  const hasJson = fields.some(({ type }) => type === 'json')
  const options = (names: readonly string[]) =>
    names.map(one => (
      <option key={one} value={one}>
        {one}
      </option>
    ))
  return (
    <div class="stack">
      <Field label={label}>
        <select
          value={isTyped ? typed : value}
          onChange={({ currentTarget }) => {
            setTyped(currentTarget.value === typed)
            onValue(currentTarget.value === typed ? value : currentTarget.value)
          }}
        >
          <option value="" />
          {options(fields.map(field => field.name))}
          {found.value?.map(({ field, paths }) => (
            <optgroup key={field} label={a('relation.inside', { name: field })}>
              {options(paths)}
            </optgroup>
          ))}
          {hasJson && <option value={typed}>{a('relation.path.other')}</option>}
        </select>
      </Field>
      {isTyped && (
        <Field label={a('relation.path')} hint={a('relation.path.hint')}>
          <Input
            class="code-input"
            spellcheck={false}
            autoComplete="off"
            maxLength={1_000}
            value={value}
            onText={text => onValue(text.trim())}
          />
        </Field>
      )}
    </div>
  )
}
