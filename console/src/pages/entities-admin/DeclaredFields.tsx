import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import {
  changeCollation,
  changeDeclared,
  type Declared,
  type DeclaredField,
  type Misfit,
  misfitsIn,
  tryDeclared,
  wrongMember,
} from '../../administration/declared.ts'
import { Misfits } from '../../administration/Misfits.tsx'
import { processPath } from '../../administration/processes.ts'
import { CarrelProblem } from '../../api.ts'
import { loadEntities } from '../../entities.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { t, tOf } from '../../i18n/i18n.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, Input } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { Notice, ProblemNotice } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { toast } from '../../parts/toast.tsx'
import { go } from '../../router.ts'
import { declaredOf, FieldForm, typedOf } from './FieldForm.tsx'

interface FieldsParts {
  readonly entity: Declared
  readonly tag: string | null
  readonly onChange: () => void
}

export function Fields({ entity, tag, onChange }: FieldsParts): JSX.Element {
  const { name, source, fields } = entity
  const [changing, setChanging] = useState<DeclaredField>()
  const [describing, setDescribing] = useState<DeclaredField>()
  const columns: readonly Column<DeclaredField>[] = [
    {
      id: 'name',
      label: a('field.name'),
      cell: ({ name, label }) => (
        <>
          <bdi>{name}</bdi> {label !== undefined && <bdi class="soft">{label}</bdi>}
        </>
      ),
    },
    { id: 'type', label: a('field.type'), cell: ({ type }) => tOf('type', type) },
    { id: 'nullable', label: a('field.nullable'), cell: ({ nullable }) => (nullable ? t('yes') : t('no')) },
    {
      id: 'collation',
      label: a('field.collation'),
      cell: field => (
        <>
          <bdi>{field.collation ?? (field.type === 'text' ? a('field.code-point') : '–')}</bdi>{' '}
          {source === 'imported' && field.type === 'text' && (
            <Button look="link" label={a('change')} of={field.name} onClick={() => setChanging(field)} />
          )}
        </>
      ),
    },
    ...(source === 'built-in'
      ? []
      : [
          {
            id: 'declared',
            label: a('field.declared'),
            cell: (field: DeclaredField) => (
              <>
                <bdi class="soft">{declaredInWords(field)}</bdi>{' '}
                <Button
                  look="link"
                  label={a('field.describe')}
                  of={field.name}
                  onClick={() => setDescribing(field)}
                />
              </>
            ),
          },
        ]),
  ]
  return (
    <>
      <Table label={a('entity.fields')} columns={columns} rows={fields} idOf={one => one.name} />
      {describing && (
        <Describe
          entity={entity}
          field={describing}
          tag={tag}
          onClose={done => {
            setDescribing(undefined)
            if (done) onChange()
          }}
        />
      )}
      {changing && <Collation entity={name} field={changing} onClose={() => setChanging(undefined)} />}
    </>
  )
}

/** The constraints and the form of a field in a line. */
const declaredInWords = ({ required, unique, format, unit, oneOf, references }: DeclaredField): string =>
  [
    required && a('field.required'),
    unique && a('field.unique'),
    format && aOf('format', format),
    unit,
    oneOf && a('field.values', { n: oneOf.length }),
    references && `→ ${tOf('entity', references)}`,
  ]
    .filter(Boolean)
    .join(' · ')

interface DescribeParts {
  readonly entity: Declared
  readonly field: DeclaredField
  readonly tag: string | null
  readonly onClose: (done: boolean) => void
}

/** Declares how a field is shown, and what its values must be. */
function Describe({ entity: { name, source }, field, tag, onClose }: DescribeParts): JSX.Element {
  const [typed, setTyped] = useState(() => typedOf(field))
  const [misfits, setMisfits] = useState<readonly Misfit[]>([])
  const [refusal, setRefusal] = useState<CarrelProblem>()
  const isImported = source === 'imported'
  const save = async () => {
    const declared = declaredOf(typed, field.type)
    const change = { fields: { [field.name]: isImported ? declared : shownOf(declared) } }
    setRefusal(undefined)
    try {
      // Asked before, because browsers log what the service refuses.
      const found = isImported ? await tryDeclared(name, change, tag) : []
      setMisfits(found)
      if (found.length > 0) return false
      await changeDeclared(name, change, tag)
    } catch (error) {
      if (!(error instanceof CarrelProblem) || wrongMember(error) === undefined) throw error
      setMisfits(misfitsIn(error.members))
      setRefusal(error)
      return false
    }
    toast(a('saved'))
    await loadEntities().catch(() => {})
    return true
  }
  const wrong = wrongMember(refusal)
  const faultAt = (member: string) => {
    const isHere = wrong?.startsWith(`/fields/${pointed(field.name)}/${member}`)
    return isHere && misfits.length === 0 ? refusal?.detail : undefined
  }
  const isShown = Object.keys(typed).some(member => faultAt(member) !== undefined)
  return (
    <Confirm
      tone="primary"
      title={a('field.describe.title', { name: field.name })}
      act={t('save')}
      onClose={onClose}
      work={save}
    >
      <FieldForm
        entity={name}
        type={field.type}
        typed={typed}
        onChange={next => {
          setTyped(next)
          setMisfits([])
          setRefusal(undefined)
        }}
        faultAt={faultAt}
        isImported={isImported}
      />
      {misfits.length > 0 ? (
        <div ref={comeIntoView}>
          <Notice tone="bad">
            <p>{a('field.misfits')}</p>
            <Misfits entity={name} misfits={misfits} />
          </Notice>
        </div>
      ) : (
        !isShown && <ProblemNotice problem={refusal} />
      )}
    </Confirm>
  )
}

/** Scrolls to what appears below the part of a dialog that is seen. */
const comeIntoView = (element: Element | null) => element?.scrollIntoView({ block: 'nearest' })

/** A name as a part of a JSON pointer (RFC 6901). */
const pointed = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** The part that a table's fields can have. */
const shownOf = ({ label, help, unit, format }: ReturnType<typeof declaredOf>) => ({
  label,
  help,
  unit,
  format,
})

interface CollationParts {
  readonly entity: string
  readonly field: DeclaredField
  readonly onClose: () => void
}

/** Changes the collation of a field, after which a process rewrites the records. */
function Collation({ entity, field: { name, collation = '' }, onClose }: CollationParts): JSX.Element {
  const [tag, setTag] = useState(collation)
  return (
    <Confirm
      tone="primary"
      title={a('field.collation.title', { name })}
      act={t('save')}
      onClose={onClose}
      work={async () => {
        const process = await changeCollation(entity, name, tag.trim() || null)
        if (process !== undefined) go(processPath(process))
      }}
    >
      <p>{a('field.collation.help')}</p>
      <Field label={a('field.collation.tag')} hint={a('field.collation.tag.hint')}>
        <Input autoComplete="off" spellcheck={false} value={tag} onText={setTag} />
      </Field>
    </Confirm>
  )
}
