import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import {
  type FieldRecipe,
  fieldOf,
  keyOf,
  type Recipe,
  type types,
  type Way,
  wayInWords,
  ways,
  withOffer,
  withWay,
} from '../../administration/recipes.ts'
import { a } from '../../i18n/admin.ts'
import { formatNumber, tOf } from '../../i18n/i18n.ts'
import { Button, Select } from '../../parts/controls.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { ChangeField, type Row } from './ChangeField.tsx'
import type { PreviewField } from './imports.ts'

interface Parts {
  readonly fields: readonly PreviewField[]
  readonly recipe: Recipe
  readonly onChange: (recipe: Recipe) => void
}

/** Number of fields up to which the table has no scroll bar of its own. */
const mostWhole = 100

function columnsFor(
  recipe: Recipe,
  onChange: Parts['onChange'],
  change: (row: Row) => void,
): readonly Column<Row>[] {
  const key = keyOf(recipe)
  return [
    {
      id: 'name',
      label: a('field.name'),
      cell: ({ source, field }) => (
        <span class={field ? '' : 'soft'}>
          <bdi>{field?.name ?? source}</bdi>{' '}
          {field && key.includes(field.name) && <span class="tag good">{a('entity.key')}</span>}
          {field?.from !== undefined && (
            <span class="soft small">
              {' '}
              <bdi>{a('import.from', { name: field.from })}</bdi>
            </span>
          )}
        </span>
      ),
    },
    {
      id: 'type',
      label: a('field.type'),
      cell: ({ source, field }) =>
        field ? (
          <WayChoice
            name={source}
            found={field.type}
            value={fieldOf(recipe, source).read ?? ''}
            onChange={way => onChange(withWay(recipe, source, way))}
          />
        ) : (
          <span class="soft">{a('import.left-out')}</span>
        ),
    },
    {
      id: 'nulls',
      label: a('import.nulls'),
      numeric: true,
      cell: ({ field }) => (field?.nulls === undefined ? '–' : formatNumber(field.nulls)),
    },
    {
      id: 'why',
      label: a('import.why'),
      wrap: true,
      cell: ({ source, field }) => {
        const { empty = [] } = fieldOf(recipe, source)
        return (
          field && (
            <div class="why">
              <Reason field={field} />
              {offersOf(field).map(offer => (
                <div key={JSON.stringify(offer)}>
                  <Button
                    class="button offer"
                    label={offerInWords(offer)}
                    onClick={() => onChange(withOffer(recipe, source, offer))}
                  />
                  <p class="soft small">{becomesInWords(field, offer)}</p>
                </div>
              ))}
              {empty.length > 0 && <span class="soft small">{emptyInWords(empty)}</span>}
            </div>
          )
        )
      },
    },
    {
      id: 'change',
      label: <span class="sr-only">{a('import.change')}</span>,
      cell: row => (
        <Button
          look="quiet"
          label={a('import.change')}
          aria-label={a('import.change.of', { name: row.source })}
          onClick={() => change(row)}
        />
      ),
    },
  ]
}

/** The fields of the file: what they are, why, and what would make something else of them. */
export function Fields({ fields, recipe, onChange }: Parts): JSX.Element {
  const [changing, setChanging] = useState<Row>()
  const known = fields.map(field => ({ source: field.from ?? field.name, field }))
  const leftOut = Object.entries(recipe.fields ?? {}).flatMap(([source, { leaveOut }]) =>
    leaveOut ? [{ source, field: undefined }] : [],
  )
  const rows = [...known, ...leftOut]
  return (
    <>
      <Table
        label={a('entity.fields')}
        columns={columnsFor(recipe, onChange, setChanging)}
        rows={rows}
        idOf={({ source }) => source}
        whole={rows.length <= mostWhole}
      />
      {changing && (
        <ChangeField
          row={changing}
          recipe={recipe}
          onChange={onChange}
          onClose={() => setChanging(undefined)}
        />
      )}
    </>
  )
}

interface WayChoiceParts {
  readonly name: string
  readonly found: string
  readonly value: string
  readonly onChange: (way: Way | '') => void
}

function WayChoice({ name, found, value, onChange }: WayChoiceParts): JSX.Element {
  return (
    <Select
      aria-label={a('import.type.of', { name })}
      value={value}
      onChoose={onChange}
      none={value === '' ? a('import.type.found', { type: tOf('type', found) }) : a('import.type.auto')}
      options={ways.map(one => [one, wayInWords(one)])}
    />
  )
}

/** Maximum number of texts that an offer names. */
const mostNamed = 3

function offerInWords({ read, empty = [], separator }: FieldRecipe): string {
  const named = empty.slice(0, mostNamed).map(text => a('import.quoted', { text }))
  const texts = `${named.join(', ')}${empty.length > mostNamed ? ', …' : ''}`
  if (read === 'list') return a('import.offer.list', { separator: separator ?? '' })
  if (read === undefined) return a('import.offer.empty', { texts })
  const way = wayInWords(read as Way)
  return empty.length === 0 ? a('import.offer.read', { way }) : a('import.offer.both', { way, texts })
}

/** Offers of the service, and the one for numbers that are names. */
const offersOf = ({ offers = [], digits }: PreviewField): readonly FieldRecipe[] =>
  offers.length === 0 && digits ? [{ read: 'text' }] : offers

/** Says what a repair makes of each value that isn't as the others. */
function becomesInWords({ kinds = [], texts = [] }: PreviewField, { read, empty = [] }: FieldRecipe): string {
  const quoted = read === undefined || read === 'text' ? [] : kinds.flatMap(one => one.quoted ?? [])
  const n = quoted.reduce((sum, { count }) => sum + count, 0)
  const [first] = quoted
  const told = first && { ...first, n, line: formatNumber(first.line), way: wayInWords(read as Way) }
  const words = told && a('import.becomes.read', told)
  const counts = new Map(texts.map(({ text, count }) => [text, count]))
  return [words, empty.length > 0 && emptyInWords(empty, counts)].filter(Boolean).join(' ')
}

const emptyInWords = (empty: readonly string[], counts?: ReadonlyMap<string, number>): string => {
  const texts = empty.map(text => {
    const count = counts?.get(text)
    return a('import.quoted', { text }) + (count === undefined ? '' : ` (${formatNumber(count)})`)
  })
  return a('import.becomes.empty', { texts: texts.join(', ') })
}

/** Says which lines make a field what it is. */
function Reason({ field }: { readonly field: PreviewField }): JSX.Element | null {
  const { kinds = [], texts = [], moreTexts = 0, digits, mix } = field
  if (digits)
    return (
      <span>
        {a('import.digits', {
          text: digits.text,
          line: formatNumber(digits.line),
          first: digits.earlier.text,
          at: formatNumber(digits.earlier.line),
        })}
      </span>
    )
  if (kinds.length > 1)
    return (
      <span>
        {kinds.map(({ kind, count, line, example }, at) => {
          const counted = `${a(`import.kind.${kind as Kind}`)}: ${formatNumber(count)}`
          const more = kind === 'text' ? texts.length - 1 + moreTexts : 0
          return (
            <span key={kind}>
              {at > 0 && '; '}
              {at === 0 && kind !== 'text' ? (
                counted
              ) : (
                <bdi>{a('import.because', { counted, line: formatNumber(line), example })}</bdi>
              )}
              {more > 0 && ` ${a('import.because.more', { n: more })}`}
            </span>
          )
        })}
      </span>
    )
  if (!mix) return null
  return (
    <span>
      {a('import.mix', {
        kind: tOf('type', mix.kind),
        line: formatNumber(mix.line),
        first: tOf('type', mix.earlier.kind),
        at: formatNumber(mix.earlier.line),
      })}
    </span>
  )
}

type Kind = (typeof types)[number] | 'date' | 'grouped' | Exclude<PreviewField['looks'], undefined>
