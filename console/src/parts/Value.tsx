import type { JSX } from 'preact'
import { type Json as Data, type EntityField, entities, entityPath, labelOf } from '../entities.ts'
import { printExactly } from '../exact.ts'
import { formatTime, t, tOf } from '../i18n/i18n.ts'
import { href } from '../router.ts'
import './value.css'

/** Maximum number of characters shown of a value in a line. */
const longest = 240

interface ValueParts {
  readonly value: Data | undefined
  /** The field that the value is of, which says how it is shown. */
  readonly field?: Pick<EntityField, 'type' | 'format' | 'unit' | 'references'> | undefined
  readonly type?: string | undefined
  /** True inside a link, where an address must not become a link of its own. */
  readonly plain?: boolean
}

/** One value in a line, of a cell or of a list. It is always shown as text, never as markup. */
export function Value({ value, field, type = field?.type, plain }: ValueParts): JSX.Element {
  if (value === null || value === undefined)
    return (
      <span class="null" title={t('null')}>
        –<span class="sr-only">{t('null')}</span>
      </span>
    )
  const to = plain ? undefined : pathOfReference(field, value)
  if (to !== undefined)
    return (
      <a href={href(to)} class={typeof value === 'string' ? '' : 'number'}>
        <bdi>{cut(String(value), longest)}</bdi>
      </a>
    )
  if (typeof value === 'boolean') return <span>{value ? t('yes') : t('no')}</span>
  if (typeof value === 'number' || typeof value === 'bigint')
    return (
      <span class="number">
        {String(value)}
        {field?.unit !== undefined && <bdi class="soft unit">{field.unit}</bdi>}
      </span>
    )
  if (typeof value === 'string') {
    if (type === 'date-time') return <time dateTime={value}>{formatTime(value)}</time>
    const picture = field?.format === 'image' ? ownAddress(value) : undefined
    if (picture) return <Picture address={picture} text={value} plain={plain} />
    const shown = <bdi title={value.length > 40 ? cut(value, 1_000) : undefined}>{cut(value, longest)}</bdi>
    if (plain) return shown
    if (isAddress(value))
      return (
        <a href={value} target="_blank" rel="noopener noreferrer">
          {shown}
        </a>
      )
    return field?.format === 'e-mail' && isMailAddress(value) ? (
      <a href={`mailto:${value}`}>{shown}</a>
    ) : (
      shown
    )
  }
  if (Array.isArray(value) && value.every(one => ['string', 'number', 'bigint'].includes(typeof one))) {
    if (value.length === 0) return <span class="null">{t('none')}</span>
    return <bdi>{cut(value.join(', '), longest)}</bdi>
  }
  return <bdi class="json">{cut(printExactly(value), longest)}</bdi>
}

/** The path of the record that a value references, if the caller may read its entity. */
export function pathOfReference(
  field: Pick<EntityField, 'references'> | undefined,
  value: Data | undefined,
): string | undefined {
  const name = field?.references
  if (name === undefined || !['string', 'number', 'bigint'].includes(typeof value)) return undefined
  if (!entities.value?.some(one => one.name === name)) return undefined
  return `${entityPath(name)}/records/${encodeURIComponent(String(value))}`
}

/** The head of a field: its label with the name in the field's tooltip, or its name. */
export function FieldName({
  field,
}: {
  readonly field: Pick<EntityField, 'name' | 'label' | 'type' | 'unit'>
}): JSX.Element {
  const { name, label, type, unit } = field
  const words = [label === undefined ? '' : name, tOf('type', type), unit ?? '']
  return <bdi title={words.filter(Boolean).join(' · ')}>{labelOf(field)}</bdi>
}

interface PictureParts {
  readonly address: string
  readonly text: string
  readonly plain: boolean | undefined
}

/**
 * A picture as a thumbnail. It comes from this service only (CO3): others would learn who looks at which record.
 */
const Picture = ({ address, text, plain }: PictureParts): JSX.Element => {
  const picture = <img class="thumbnail" src={address} alt={cut(text, longest)} loading="lazy" />
  return plain ? (
    picture
  ) : (
    <a href={address} target="_blank" rel="noopener noreferrer">
      {picture}
    </a>
  )
}

/** The address of something that this service has; undefined for any other. */
function ownAddress(text: string): string | undefined {
  if (text.length > 2_000 || !/^(https?:\/\/|\/(?!\/))[^\s<>"\\]+$/i.test(text)) return undefined
  const url = URL.parse(text, location.href)
  return url?.origin === location.origin ? url.href : undefined
}

/** True for a plain e-mail address, without anything that a mail program would take as an instruction. */
const isMailAddress = (text: string): boolean =>
  text.length <= 254 && /^[\w.+'-]+@[\p{L}\p{N}.-]+$/u.test(text)

/** True for a web address. Any other text, whatever its scheme, never becomes a link. */
export const isAddress = (text: string): boolean =>
  text.length <= 2_000 && /^https?:\/\/[^\s<>"]+$/i.test(text) && URL.canParse(text)

/** Shortens a text without splitting a character. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`
