import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { entities } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Plus, X } from '../../icons.ts'
import { Field } from '../../parts/Field.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { type Declared, type Relation, relationInWords } from './declared.ts'

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
              <button
                type="button"
                class="button quiet icon"
                aria-label={`${t('remove')}: ${relationInWords(relation)}`}
                onClick={() => onChange(relations.filter(one => one !== relation))}
              >
                <Icon of={X} size={16} />
              </button>
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
          <button type="button" class="link-button" onClick={() => onChange([...relations, relation])}>
            {a('add')}
          </button>
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
          <button type="button" class="button" onClick={() => setAdding(true)}>
            <Icon of={Plus} />
            {a('relation.add')}
          </button>
        </div>
      )}
    </div>
  )
}

function NewRelation({
  entity,
  onAdd,
  onCancel,
}: {
  readonly entity: Declared
  readonly onAdd: (relation: Relation) => void
  readonly onCancel: () => void
}): JSX.Element {
  const others = (entities.value ?? []).filter(({ name }) => name !== entity.name)
  const [to, setTo] = useState(others[0]?.name ?? '')
  const target = others.find(({ name }) => name === to)
  const [pairs, setPairs] = useState<readonly (readonly [string, string])[]>([['', '']])
  const own = entity.fields.map(({ name }) => name)
  const its = target?.fields.map(({ name }) => name) ?? []
  const set = (at: number, pair: readonly [string, string]) =>
    setPairs(pairs.map((one, place) => (place === at ? pair : one)))
  const choose = (label: string, value: string, names: readonly string[], onName: (name: string) => void) => (
    <Field label={label}>
      <select value={value} onChange={event => onName(event.currentTarget.value)}>
        <option value="" />
        {names.map(name => (
          <option key={name} value={name}>
            {tOf('entity', name)}
          </option>
        ))}
      </select>
    </Field>
  )
  const isWhole = target !== undefined && pairs.every(([one, other]) => one !== '' && other !== '')
  return (
    <div class="new-relation">
      {choose(
        a('relation.to'),
        to,
        others.map(({ name }) => name),
        name => {
          setTo(name)
          setPairs([['', '']])
        },
      )}
      {pairs.map(([one, other], at) => (
        <div key={at} class="fields">
          {choose(a('relation.own'), one, own, name => set(at, [name, other]))}
          {choose(a('relation.its', { name: tOf('entity', to) }), other, its, name => set(at, [one, name]))}
        </div>
      ))}
      <div class="row">
        <button
          type="button"
          class="button"
          aria-disabled={!isWhole}
          onClick={() =>
            isWhole &&
            onAdd({
              fields: pairs.map(([one]) => one),
              to: { entity: to, fields: pairs.map(([, other]) => other) },
            })
          }
        >
          {a('relation.add.do')}
        </button>
        <button type="button" class="button quiet" onClick={() => setPairs([...pairs, ['', '']])}>
          {a('relation.more')}
        </button>
        <button type="button" class="button quiet" onClick={onCancel}>
          {t('cancel')}
        </button>
      </div>
    </div>
  )
}
