import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { EntityField, Json } from '../entities.ts'
import { printExactly, readExactly } from '../exact.ts'
import { formatNumber, t } from '../i18n/i18n.ts'
import { Button } from './controls.tsx'
import { cut, isAddress, pathOfReference, Value } from './Value.tsx'
import './whole.css'

/** Number of characters shown of a text until more are asked for. */
const first = 2_000

interface WholeParts {
  readonly value: Json | undefined
  /** The field that the value is of, which says how it is shown. */
  readonly field?: EntityField | undefined
  readonly type?: string
}

/** A single value, shown in full. */
export function Whole({ value, field, type = field?.type ?? 'text' }: WholeParts): JSX.Element {
  const read = typeof value === 'string' && field?.format === 'json' ? treeIn(value) : undefined
  if (read !== undefined) return <Tree value={read} isOpen areOpen={false} />
  if (Array.isArray(value) && value.length > 0 && !isBranch(value))
    return (
      <ul>
        {value.slice(0, 500).map((one, at) => (
          <li key={at}>
            <Whole value={one} type="text" field={field && { ...field, type: 'text' }} />
          </li>
        ))}
      </ul>
    )
  if (typeof value === 'string' && pathOfReference(field, value) !== undefined)
    return <Value value={value} field={field} />
  if (typeof value === 'string' && (field?.format === 'image' || field?.format === 'e-mail'))
    return <Value value={value} field={field} />
  if (typeof value === 'string' && type !== 'date-time') return <Long text={value} />
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
    const isSmall = printExactly(value, 1).split('\n').length <= mostLines
    return <Tree value={value} isOpen areOpen={isSmall} />
  }
  if (typeof value === 'string')
    return (
      <span>
        <Value value={value} type={type} /> <span class="soft small">{value}</span>
      </span>
    )
  return <Value value={value} type={type} field={field} />
}

/** Reads JSON within a text; undefined if it isn't an object or a list. */
function treeIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return Object(readExactly(text))
  } catch {
    return undefined
  }
}

/** Maximum number of lines of JSON that are shown unfolded. */
const mostLines = 20
/** Maximum number of members of one value that are listed. */
const mostMembers = 200

/** True for an object, and for a list of more than plain values. */
const isBranch = (value: Json): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (!Array.isArray(value) || value.some(one => typeof one === 'object' && one !== null))

interface TreeParts {
  readonly value: object
  readonly name?: string
  readonly isOpen: boolean
  /** True if the branches are unfolded, too. */
  readonly areOpen: boolean
}

/** JSON as a tree whose branches are made when they are unfolded. */
function Tree({ value, name, isOpen, areOpen }: TreeParts): JSX.Element {
  const [open, setOpen] = useState(isOpen)
  const members = Object.entries(value) as readonly [string, Json][]
  return (
    <details class="tree" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        {name !== undefined && <bdi>{name}</bdi>}{' '}
        <span class="soft small">
          {t(Array.isArray(value) ? 'value.elements' : 'value.members', { n: members.length })}
        </span>{' '}
        {!open && <code class="soft small">{cut(printExactly(value), 80)}</code>}
      </summary>
      {open && (
        <ul>
          {members.slice(0, mostMembers).map(([key, one]) => (
            <li key={key}>
              {isBranch(one) ? (
                <Tree value={Object(one)} name={key} isOpen={areOpen} areOpen={areOpen} />
              ) : (
                <>
                  <bdi class="soft">{key}</bdi> <Whole value={one} type="text" />
                </>
              )}
            </li>
          ))}
          {members.length > mostMembers && (
            <li class="soft small">{t('value.more', { n: members.length - mostMembers })}</li>
          )}
        </ul>
      )}
    </details>
  )
}

function Long({ text }: { readonly text: string }): JSX.Element {
  const [all, setAll] = useState(false)
  const shown = all ? text : cut(text, first)
  return (
    <>
      {isAddress(text) ? <Value value={text} /> : <bdi class="text">{shown}</bdi>}
      {text.length > first && (
        <p>
          <Button
            class="link-button small"
            label={all ? t('less') : t('value.all', { count: formatNumber(text.length) })}
            onClick={() => setAll(!all)}
          />
        </p>
      )}
    </>
  )
}
