import type { ComponentChildren, JSX } from 'preact'
import { a } from '../../i18n/admin.ts'
import { formatNumber, tOf } from '../../i18n/i18n.ts'
import { type Column, Table } from '../../parts/Table.tsx'
import type { Preview } from './imports.ts'

type Differences = NonNullable<Preview['differences']>

/** Maximum number of fields listed by name. */
const maxNames = 20

/** Says what an import would add, change and delete, in records and fields, with the first of each. */
export function Effect({ differences }: { readonly differences: Differences }): JSX.Element {
  const { counts, first, fields } = differences
  const { inserted, replaced, deleted } = first
  const rows = replaced.flatMap(({ key, fields: changed }) =>
    changed.map((change, at) => ({ ...change, key: key.join(', '), at })),
  )
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      id: 'key',
      label: a('entity.key'),
      cell: ({ key, at }) => <bdi>{at === 0 ? key : ''}</bdi>,
      pinned: true,
    },
    { id: 'field', label: a('field.name'), cell: ({ name }) => <bdi>{name}</bdi> },
    { id: 'before', label: a('import.before'), wrap: true, cell: ({ before }) => <Json text={before} /> },
    { id: 'after', label: a('import.after'), wrap: true, cell: ({ after }) => <Json text={after} /> },
  ]
  return (
    <>
      <h3>{a('import.effect')}</h3>
      <dl class="effect">
        <Fact name={a('import.added')} n={counts.inserted ?? 0} first={inserted} />
        <Fact name={a('import.changed')} n={counts.replaced ?? 0} first={replaced} />
        <Fact name={a('import.deleted')} n={counts.deleted ?? 0} first={deleted} tone="bad" />
        <Fact name={a('import.unchanged')} n={counts.unchanged ?? 0} first={[]} />
        <Names name={a('import.fields.added')} names={fields.inserted.map(one => one.name)} />
        <Names name={a('import.fields.gone')} names={fields.deleted} tone="bad" />
        <Names
          name={a('import.fields.retyped')}
          names={fields.retyped.map(
            ({ name, before, after }) => `${name} (${tOf('type', before)} → ${tOf('type', after)})`,
          )}
        />
      </dl>
      {rows.length > 0 && (
        <details>
          <summary>{a('import.changed.first', { n: replaced.length })}</summary>
          <Table
            label={a('import.changed.first', { n: replaced.length })}
            columns={columns}
            rows={rows}
            idOf={({ key, name }) => `${key} ${name}`}
            whole
          />
        </details>
      )}
    </>
  )
}

interface RowParts {
  readonly name: string
  readonly tone?: 'bad' | ''
  readonly children: ComponentChildren
}

function Row({ name, tone = '', children }: RowParts): JSX.Element {
  return (
    <div class={tone}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

interface FactParts {
  readonly name: string
  readonly n: number
  readonly first: readonly { readonly key: readonly string[] }[]
  readonly tone?: 'bad'
}

function Fact({ name, n, first, tone }: FactParts): JSX.Element {
  const keys = first.map(({ key }) => key.join(', '))
  return (
    <Row name={name} {...(tone && n > 0 && { tone })}>
      <strong class="number">{formatNumber(n)}</strong>
      {keys.length > 0 && (
        <span class="soft small">
          {' '}
          <bdi>{keys.join(' · ')}</bdi>
          {n > keys.length && ' · …'}
        </span>
      )}
    </Row>
  )
}

interface NamesParts {
  readonly name: string
  readonly names: readonly string[]
  readonly tone?: 'bad'
}

function Names({ name, names, tone }: NamesParts): JSX.Element | null {
  if (names.length === 0) return null
  return (
    <Row name={name} {...(tone && { tone })}>
      <bdi>{names.slice(0, maxNames).join(', ')}</bdi>
      {names.length > maxNames && ', …'}
    </Row>
  )
}

/** A value as JSON; texts without their quotation marks. */
function Json({ text }: { readonly text: string }): JSX.Element {
  const plain = /^"(?:[^"\\]|\\.)*"$/s.test(text) ? (JSON.parse(text) as string) : text
  return text === 'null' ? <span class="null">{a('import.nothing')}</span> : <bdi>{plain}</bdi>
}
