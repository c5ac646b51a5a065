import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type DataRecord, type Entity, keyOf, keyText } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { Button } from '../../parts/controls.tsx'
import type { Column } from '../../parts/Table.tsx'
import { pqlOf } from '../../query/pql.ts'
import { SeveralDialog } from './SeveralDialog.tsx'

/** The keys of the records that are chosen, or all that the view finds. */
export type Ticked = ReadonlySet<string> | 'all'

interface Parts {
  readonly entity: Entity
  /** The keys of the records that are seen. */
  readonly ids: readonly string[]
  /** Those of them that are chosen. */
  readonly chosen: ReadonlySet<string>
  readonly condition: string
  readonly total: number
  readonly ticked: Ticked
  readonly setTicked: (ticked: Ticked) => void
}

/** Says how many records are chosen, and offers what can be done with them. */
export function Ticks({ entity, ids, chosen, condition, total, ticked, setTicked }: Parts): JSX.Element {
  const [work, setWork] = useState<'change' | 'delete'>()
  return (
    <div class="several">
      {chosen.size === 0 ? (
        <span class="soft">{t('several.hint')}</span>
      ) : (
        <>
          <strong>{t('several.ticked', { n: ticked === 'all' ? total : chosen.size })}</strong>
          <Button label={t('several.change.open')} onClick={() => setWork('change')} />
          <Button label={t('several.delete.open')} onClick={() => setWork('delete')} />
          <Button look="link" label={t('several.none')} onClick={() => setTicked(new Set())} />
        </>
      )}
      {ticked !== 'all' && total > ids.length && (
        <Button
          look="link"
          label={t(condition === '' ? 'several.all' : 'several.found', { n: total })}
          onClick={() => setTicked('all')}
        />
      )}
      {work && (
        <SeveralDialog
          entity={entity}
          what={work}
          several={
            ticked === 'all'
              ? { kind: 'query', query: queryOf(entity, condition) }
              : { kind: 'keys', keys: [...chosen] }
          }
          onClose={isDone => {
            setWork(undefined)
            if (isDone) setTicked(new Set())
          }}
        />
      )}
    </div>
  )
}

/** The records of the view. Without a condition, it is one that all records meet. */
const queryOf = (entity: Entity, condition: string): string =>
  condition === '' ? JSON.stringify(['null?', keyOf(entity)[0], false]) : pqlOf(entity, condition)

export const tickColumn = (
  entity: Entity,
  ids: readonly string[],
  chosen: ReadonlySet<string>,
  onTick: (ticked: ReadonlySet<string>) => void,
): Column<DataRecord> => ({
  id: '\0tick',
  label: (
    <input
      type="checkbox"
      aria-label={t('several.page')}
      checked={ids.length > 0 && ids.every(id => chosen.has(id))}
      onChange={event => onTick(new Set(event.currentTarget.checked ? ids : []))}
    />
  ),
  cell: record => {
    const id = keyText(entity, record)
    return (
      <input
        type="checkbox"
        aria-label={t('several.tick', { name: id })}
        checked={chosen.has(id)}
        onChange={event => {
          const next = new Set(chosen)
          if (event.currentTarget.checked) next.add(id)
          else next.delete(id)
          onTick(next)
        }}
      />
    )
  },
})
