import type { JSX } from 'preact'
import { a } from '../../i18n/admin.ts'
import { formatNumber } from '../../i18n/i18n.ts'
import type { Preview } from './imports.ts'

/** Maximum number of fields listed by name. */
const maxNames = 20

/** Says how many records and which fields an import would remove. Renders nothing if it would remove none. */
export function LossInWords({ preview }: { readonly preview: Preview }): JSX.Element | null {
  const { loss, changes } = preview
  if (!loss) {
    const deleted = changes?.deleted ?? 0
    return deleted === 0 ? null : <p>{a('import.loss.deleted', { n: deleted })}</p>
  }
  const { records, fields } = loss
  const { before, after, gone, isEstimate } = records
  const more = fields.gone.length - maxNames
  return (
    <>
      {gone > 0 && (
        <p>
          {a(isEstimate ? 'import.loss.about' : 'import.loss.records', {
            n: gone,
            before: formatNumber(before),
            after: formatNumber(after),
          })}
        </p>
      )}
      {fields.gone.length > 0 && (
        <p>
          {a('import.loss.fields', { n: fields.gone.length, before: formatNumber(fields.before) })}{' '}
          {fields.gone.slice(0, maxNames).map((name, at) => (
            <span key={name}>
              {at > 0 && ', '}
              <bdi>{name}</bdi>
            </span>
          ))}
          {more > 0 && ', …'}
        </p>
      )}
    </>
  )
}
