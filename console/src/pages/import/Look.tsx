import type { JSX } from 'preact'
import type { Json } from '../../entities.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { formatNumber, tOf } from '../../i18n/i18n.ts'
import { Notice } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { Value } from '../../parts/Value.tsx'
import { delimiterWords, type Preview, type PreviewField, types, type Wanted } from './imports.ts'
import { LossInWords } from './LossInWords.tsx'

interface Parts {
  readonly preview: Preview
  readonly wanted: Wanted
  readonly onChange: (wanted: Wanted) => void
}

/** The preview of a file: faults, types, and the first records. */
export function Look({ preview, wanted, onChange }: Parts): JSX.Element {
  const { faults, moreFaults, fields, sample, records, format, changes, loss } = preview
  return (
    <section class="section">
      <h2>{a('import.seen')}</h2>
      {faults.length > 0 ? (
        <Notice tone="bad">
          <p>{a('import.faults')}</p>
          <ul>
            {faults.map(({ line, message, alike }) => (
              <li key={`${line} ${message}`}>
                {line !== null && <strong>{a('import.line', { line: formatNumber(line) })} </strong>}
                <bdi>{message}</bdi>
                {alike &&
                  ` ${a('import.alike', { n: alike.count, lines: alike.lines.map(formatNumber).join(' · ') })}`}
              </li>
            ))}
          </ul>
          {moreFaults > 0 && <p>{a('import.more', { n: moreFaults })}</p>}
        </Notice>
      ) : (
        <Notice tone="good">
          {a('import.records', { n: records })}
          {format && ` (${[format.toUpperCase(), ...wayOf(preview)].join(', ')})`}
          {changes && `: ${changesInWords(changes)}`}
        </Notice>
      )}
      {loss && (loss.records.gone > 0 || loss.fields.gone.length > 0) && (
        <Notice tone="warn">
          <LossInWords preview={preview} />
        </Notice>
      )}
      {fields.length > 0 && wanted.mode === 'replace' && (
        <Types fields={fields} wanted={wanted} onChange={onChange} />
      )}
      {sample.length > 0 && <Sample sample={sample} />}
    </section>
  )
}

const changesInWords = (changes: Readonly<Record<string, number>>) =>
  Object.entries(changes)
    .map(([name, n]) => `${aOf('result', name)} ${formatNumber(n)}`)
    .join(', ')

/** Describes the lines whose values make a field JSON. */
const mixInWords = ({ kind, line, earlier }: NonNullable<PreviewField['mix']>) => ({
  kind: tOf('type', kind),
  line: formatNumber(line),
  first: tOf('type', earlier.kind),
  at: formatNumber(earlier.line),
})

/** Describes the lines that write one number differently. */
const digitsInWords = ({ line, text, earlier }: NonNullable<PreviewField['digits']>) => ({
  text,
  line: formatNumber(line),
  first: earlier.text,
  at: formatNumber(earlier.line),
})

/** Names the delimiter and the encoding of a file, except a comma and UTF-8. */
const wayOf = ({ delimiter, encoding }: Preview): string[] => [
  ...(delimiter !== null && delimiter !== ',' ? [a(`import.delimiter.${delimiterWords[delimiter]}`)] : []),
  ...(encoding !== null && encoding !== 'utf-8' ? [encoding] : []),
]

/** The detected types, each with a choice of others. */
function Types({
  fields,
  wanted,
  onChange,
}: {
  readonly fields: readonly PreviewField[]
  readonly wanted: Wanted
  readonly onChange: (wanted: Wanted) => void
}): JSX.Element {
  const choose = (name: string, type: string) => {
    const { [name]: _, ...others } = wanted.types
    onChange({ ...wanted, types: type === '' ? others : { ...others, [name]: type } })
  }
  const columns: readonly Column<PreviewField>[] = [
    {
      id: 'name',
      label: a('field.name'),
      cell: ({ name }) => (
        <>
          <bdi>{name}</bdi> {wanted.key.includes(name) && <span class="tag good">{a('entity.key')}</span>}
        </>
      ),
    },
    {
      id: 'type',
      label: a('field.type'),
      cell: ({ name, type }) => (
        <select
          aria-label={a('import.type.of', { name })}
          value={wanted.types[name] ?? ''}
          onChange={event => choose(name, event.currentTarget.value)}
        >
          <option value="">
            {wanted.types[name] === undefined
              ? a('import.type.found', { type: tOf('type', type) })
              : a('import.type.auto')}
          </option>
          {types.map(one => (
            <option key={one} value={one}>
              {tOf('type', one)}
            </option>
          ))}
        </select>
      ),
    },
    {
      id: 'nulls',
      label: a('import.nulls'),
      numeric: true,
      cell: ({ nulls }) => (nulls === undefined ? '–' : formatNumber(nulls)),
    },
    {
      id: 'mix',
      label: <span class="sr-only">{a('details')}</span>,
      cell: ({ name, mix, looks, digits }) =>
        looks ? (
          <span class="tag warn">{a(`import.looks.${looks}`)}</span>
        ) : digits ? (
          <>
            <span class="tag warn">{a('import.digits', digitsInWords(digits))}</span>{' '}
            <button type="button" class="button quiet" onClick={() => choose(name, 'text')}>
              {a('import.digits.text', { name })}
            </button>
          </>
        ) : mix ? (
          <span class="tag warn">{a('import.mix', mixInWords(mix))}</span>
        ) : (
          ''
        ),
    },
  ]
  return <Table label={a('entity.fields')} columns={columns} rows={fields} idOf={({ name }) => name} />
}

/** Maximum number of columns in a sample, because a file may have thousands. */
const mostColumns = 60

function Sample({ sample }: { readonly sample: Preview['sample'] }): JSX.Element {
  const names = [...new Set(sample.flatMap(record => Object.keys(record)))].slice(0, mostColumns)
  const rows = sample.map((record, at) => ({ record, at }))
  const columns: readonly Column<(typeof rows)[number]>[] = names.map(name => ({
    id: name,
    label: <bdi>{name}</bdi>,
    cell: ({ record }) => <Value value={record[name] as Json | undefined} />,
  }))
  return (
    <>
      <h3>{a('import.sample')}</h3>
      <Table label={a('import.sample')} columns={columns} rows={rows} idOf={({ at }) => String(at)} />
    </>
  )
}
