import type { JSX } from 'preact'
import { delimiterWords } from '../../administration/recipes.ts'
import type { Json } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { formatNumber } from '../../i18n/i18n.ts'
import { Button } from '../../parts/controls.tsx'
import { Notice } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { Value } from '../../parts/Value.tsx'
import { Effect } from './Effect.tsx'
import { Fields } from './Fields.tsx'
import type { Preview, Wanted } from './imports.ts'
import { LossInWords } from './LossInWords.tsx'

interface Parts {
  readonly preview: Preview
  readonly wanted: Wanted
  /** True if the file is being checked again, so that this may not hold any more. */
  readonly isOld: boolean
  readonly onChange: (wanted: Wanted) => void
}

/** The preview of a file: faults, types, and the first records. */
export function Look({ preview, wanted, isOld, onChange }: Parts): JSX.Element {
  const { faults, moreFaults, fields, sample, records, format, differences, loss, notes } = preview
  const repairs = new Map(faults.flatMap(({ repair }) => (repair ? [[JSON.stringify(repair), repair]] : [])))
  const mixed = fields.filter(({ mix }) => mix !== undefined)
  return (
    <section class={`section ${isOld ? 'old' : ''}`} aria-busy={isOld}>
      <h2>{a('import.seen')}</h2>
      {faults.length > 0 ? (
        <Notice tone="bad">
          <p>{a('import.faults')}</p>
          <ul>
            {faults.map(({ line, message, alike }) => (
              <li key={`${line} ${message}`}>
                {line !== null && <strong>{a('import.line', { line: formatNumber(line) })} </strong>}
                <bdi lang="en">{message}</bdi>
                {alike &&
                  ` ${a('import.alike', { n: alike.count, lines: alike.lines.map(formatNumber).join(' · ') })}`}
              </li>
            ))}
          </ul>
          {moreFaults > 0 && <p>{a('import.more', { n: moreFaults })}</p>}
          <div class="row">
            {[...repairs].map(([id, repair]) => (
              <Button
                key={id}
                label={a(
                  repair.quote ? 'import.repair.quote' : `import.repair.${repair.key ? 'key' : 'shortRows'}`,
                )}
                onClick={() => onChange({ ...wanted, recipe: { ...wanted.recipe, ...repair } })}
              />
            ))}
          </div>
        </Notice>
      ) : (
        <Notice tone={mixed.length > 0 ? 'warn' : 'good'}>
          {mixed.length > 0
            ? a('import.records.mixed', { n: records, names: mixed.map(({ name }) => name).join(', ') })
            : a('import.records', { n: records })}
          {format && ` (${[format.toUpperCase(), ...wayOf(preview)].join(', ')})`}
        </Notice>
      )}
      {notes.length > 0 && (
        <Notice tone="warn">
          <ul>
            {notes.map(({ message }) => (
              <li key={message}>
                <bdi lang="en">{message}</bdi>
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {loss && (loss.records.gone > 0 || loss.fields.gone.length > 0) && (
        <Notice tone="warn">
          <LossInWords preview={preview} />
        </Notice>
      )}
      {differences && faults.length === 0 && <Effect differences={differences} />}
      {fields.length > 0 && wanted.mode === 'replace' && (
        <>
          <h3>{a('entity.fields')}</h3>
          <Fields
            fields={fields}
            recipe={wanted.recipe}
            onChange={recipe => onChange({ ...wanted, recipe })}
          />
        </>
      )}
      {sample.length > 0 && <Sample sample={sample} />}
    </section>
  )
}

/** Names the delimiter and the encoding of a file, except a comma and UTF-8. */
const wayOf = ({ delimiter, encoding }: Preview): string[] => [
  ...(delimiter !== null && delimiter !== ',' ? [a(`import.delimiter.${delimiterWords[delimiter]}`)] : []),
  ...(encoding !== null && encoding !== 'utf-8' ? [encoding] : []),
]

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
