import type { JSX } from 'preact'
import { type Entity, labelIn } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { X } from '../../icons.ts'
import { Button, IconButton } from '../../parts/controls.tsx'
import {
  isOf,
  joined,
  type Requirement,
  type Requirements,
  requirementsOf,
} from '../../query/requirements.ts'
import { showCondition } from '../../records/view.ts'

interface AppliedParts {
  readonly entity: Entity
  readonly condition: string
}

/** All requirements of a view, searched, ticked, brushed or written; each can be removed. */
export function Applied({ entity, condition }: AppliedParts): JSX.Element {
  const all = requirementsOf(condition, entity.fields)
  if (!all || all.list.length === 0)
    return <Chip text={condition} onRemove={() => showCondition('')} label={t('entity.clear')} />
  const groups = all.list.filter(
    (one, at) => one.kind !== 'bound' || all.list.findIndex(isOf(one.field, 'bound')) === at,
  )
  return (
    <div class="applied-parts">
      {groups.map(first => {
        const own = first.kind === 'bound' ? all.list.filter(isOf(first.field, 'bound')) : [first]
        const text = own.map(one => one.text).join(' and ')
        const onRemove = () =>
          showCondition(joined({ ...all, list: all.list.filter(one => !own.includes(one)) }))
        return <Chip key={text} text={text} shown={inWords(first, all, entity)} onRemove={onRemove} />
      })}
      {all.clauses !== '' && (
        <Chip text={all.clauses} onRemove={() => showCondition(joined({ ...all, clauses: '' }))} />
      )}
      {groups.length > 1 && (
        <Button look="quiet" label={t('applied.clear')} onClick={() => showCondition('')} />
      )}
    </div>
  )
}

interface Parts {
  readonly text: string
  readonly shown?: JSX.Element | undefined
  readonly label?: string
  readonly onRemove: () => void
}

function Chip({ text, shown, label = t('applied.remove', { text }), onRemove }: Parts): JSX.Element {
  return (
    <span class="applied">
      {shown ?? <code>{text}</code>}
      <IconButton icon={X} size={16} label={label} onClick={onRemove} />
    </span>
  )
}

/** Maximum number of chosen values that are named. */
const mostNamed = 3

const bare = (value: string) => (value.startsWith('"') ? (JSON.parse(value) as string) : value)

/** @returns undefined for what is best shown as it is written */
function inWords(of: Requirement, { list }: Requirements, { fields }: Entity): JSX.Element | undefined {
  if (of.kind === 'search')
    return (
      <span>
        <bdi>“{of.words}”</bdi>
      </span>
    )
  const name = 'field' in of ? of.field : ''
  const label = labelIn({ fields }, name)
  if (of.kind === 'choice') {
    const named = of.values.slice(0, mostNamed).map(one => (one === null ? t('null') : bare(one)))
    const more = of.values.length - named.length
    return (
      <span title={of.text}>
        <bdi>{label}</bdi>: <bdi>{named.join(', ')}</bdi>
        {more > 0 && ` ${t('applied.more', { n: more })}`}
      </span>
    )
  }
  if (of.kind !== 'bound') return undefined
  const ends = list.flatMap(one => (one.kind === 'bound' && one.field === of.field ? [one.bound] : []))
  const [from, to] = ['>=', '<='].map(sign => ends.find(one => one.sign === sign))
  const text =
    from && to && ends.length === 2
      ? `${bare(from.value)}–${bare(to.value)}`
      : ends.map(({ sign, value }) => `${signs[sign]} ${bare(value)}`).join(', ')
  return (
    <span>
      <bdi>{label}</bdi>: <bdi>{text}</bdi>
    </span>
  )
}

const signs = { '<': '<', '<=': '≤', '>': '>', '>=': '≥' } as const
