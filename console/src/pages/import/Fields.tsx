import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { formatNumber, t, tOf } from '../../i18n/i18n.ts'
import { Check } from '../../parts/Check.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Field } from '../../parts/Field.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import {
  type FieldRecipe,
  fieldOf,
  keyOf,
  type PreviewField,
  type Recipe,
  type types,
  type Way,
  ways,
  withField,
  withOffer,
  withWay,
} from './imports.ts'

interface Parts {
  readonly fields: readonly PreviewField[]
  readonly recipe: Recipe
  readonly onChange: (recipe: Recipe) => void
}

/** A field of the file: one that will be imported, or one that the recipe leaves out. */
type Row = { readonly source: string; readonly field: PreviewField | undefined }

/** Number of fields up to which the table has no scroll bar of its own. */
const mostWhole = 100

/** The fields of the file: what they are, why, and what would make something else of them. */
export function Fields({ fields, recipe, onChange }: Parts): JSX.Element {
  const [changing, setChanging] = useState<Row>()
  const key = keyOf(recipe)
  const known = fields.map(field => ({ source: field.from ?? field.name, field }))
  const leftOut = Object.entries(recipe.fields ?? {}).flatMap(([source, { leaveOut }]) =>
    leaveOut ? [{ source, field: undefined }] : [],
  )
  const columns: readonly Column<Row>[] = [
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
      cell: ({ source, field }) =>
        field && (
          <div class="why">
            <Reason field={field} />
            {offersOf(field).map(offer => (
              <button
                key={JSON.stringify(offer)}
                type="button"
                class="button offer"
                onClick={() => onChange(withOffer(recipe, source, offer))}
              >
                {offerInWords(offer)}
              </button>
            ))}
          </div>
        ),
    },
    {
      id: 'change',
      label: <span class="sr-only">{a('import.change')}</span>,
      cell: row => (
        <button
          type="button"
          class="button quiet"
          aria-label={a('import.change.of', { name: row.source })}
          onClick={() => setChanging(row)}
        >
          {a('import.change')}
        </button>
      ),
    },
  ]
  const rows = [...known, ...leftOut]
  return (
    <>
      <Table
        label={a('entity.fields')}
        columns={columns}
        rows={rows}
        idOf={({ source }) => source}
        whole={rows.length <= mostWhole}
      />
      {changing && (
        <Change row={changing} recipe={recipe} onChange={onChange} onClose={() => setChanging(undefined)} />
      )}
    </>
  )
}

function WayChoice({
  name,
  found,
  value,
  onChange,
}: {
  readonly name: string
  readonly found: string
  readonly value: string
  readonly onChange: (way: Way | '') => void
}): JSX.Element {
  return (
    <select
      aria-label={a('import.type.of', { name })}
      value={value}
      onChange={event => onChange(event.currentTarget.value as Way | '')}
    >
      <option value="">
        {value === '' ? a('import.type.found', { type: tOf('type', found) }) : a('import.type.auto')}
      </option>
      {ways.map(one => (
        <option key={one} value={one}>
          {wayInWords(one)}
        </option>
      ))}
    </select>
  )
}

const wayInWords = (way: Way): string =>
  way === 'decimal-comma' || way === 'day-first' || way === 'list' ? a(`import.way.${way}`) : tOf('type', way)

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

type Kind = (typeof types)[number] | 'date' | 'decimal-comma' | 'day-first'

/** Everything that can be changed of a field. */
function Change({
  row: { source, field },
  recipe,
  onChange,
  onClose,
}: {
  readonly row: Row
  readonly recipe: Recipe
  readonly onChange: (recipe: Recipe) => void
  readonly onClose: () => void
}): JSX.Element {
  const before = fieldOf(recipe, source)
  const [name, setName] = useState(before.rename ?? source)
  const [way, setWay] = useState<Way | ''>((before.read ?? '') as Way | '')
  const [separator, setSeparator] = useState(before.separator ?? ';')
  const [empty, setEmpty] = useState((before.empty ?? []).join('\n'))
  const [leaveOut, setLeaveOut] = useState(before.leaveOut ?? false)
  const [isKey, setIsKey] = useState(keyOf(recipe).includes(before.rename ?? source))
  const texts = [...new Set(empty.split('\n').filter(text => text !== ''))]
  const apply = () => {
    const { collation } = before
    const next = withField(recipe, source, {
      ...(way !== '' && { read: way }),
      ...(way === 'list' && { separator: separator || ';' }),
      ...(collation !== undefined && (way === '' || way === 'text') && { collation }),
      ...(texts.length > 0 && { empty: texts }),
      ...(name.trim() !== '' && name !== source && { rename: name }),
      leaveOut,
    })
    const own = name.trim() === '' ? source : name
    const others = keyOf(next).filter(one => one !== own)
    const { key: _, ...rest } = next
    const key = isKey && !leaveOut ? (keyOf(next).includes(own) ? keyOf(next) : [...others, own]) : others
    onChange({ ...rest, ...(key.length > 0 && { key: [...key] }) })
    onClose()
  }
  const offered = (field?.texts ?? []).filter(({ text }) => !texts.includes(text))
  return (
    <Dialog
      title={a('import.change.of', { name: source })}
      onClose={onClose}
      onSubmit={apply}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button primary">
            {a('import.change.do')}
          </button>
        </>
      }
    >
      <div class="stack">
        <Field label={a('import.rename')} hint={a('import.rename.hint', { name: source })}>
          <input
            spellcheck={false}
            autoComplete="off"
            value={name}
            onInput={event => setName(event.currentTarget.value)}
          />
        </Field>
        <Field label={a('import.readAs')}>
          <select value={way} onChange={event => setWay(event.currentTarget.value as Way | '')}>
            <option value="">{a('import.type.auto')}</option>
            {ways.map(one => (
              <option key={one} value={one}>
                {wayInWords(one)}
              </option>
            ))}
          </select>
        </Field>
        {way === 'list' && (
          <Field label={a('import.separator')}>
            <input
              maxLength={10}
              autoComplete="off"
              value={separator}
              onInput={event => setSeparator(event.currentTarget.value)}
            />
          </Field>
        )}
        <Field label={a('import.empty')}>
          <textarea
            rows={3}
            spellcheck={false}
            value={empty}
            onInput={event => setEmpty(event.currentTarget.value)}
          />
        </Field>
        {offered.length > 0 && (
          <div class="row">
            {offered.slice(0, 10).map(({ text, count }) => (
              <button
                key={text}
                type="button"
                class="button"
                onClick={() => setEmpty([...texts, text].join('\n'))}
              >
                {a('import.empty.add', { text, n: formatNumber(count) })}
              </button>
            ))}
          </div>
        )}
        <div>
          <Check checked={isKey} onChange={setIsKey}>
            {a('import.isKey')}
          </Check>
          <Check checked={leaveOut} onChange={setLeaveOut}>
            {a('import.leaveOut')}
          </Check>
        </div>
      </div>
    </Dialog>
  )
}
