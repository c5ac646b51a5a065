import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Entity, type EntityField, labelOf } from '../../entities.ts'
import { formatNumber, t, tOf } from '../../i18n/i18n.ts'
import { Columns3 } from '../../icons.ts'
import { Button } from '../../parts/controls.tsx'
import { Menu } from '../../parts/Menu.tsx'
import { SearchBox } from '../../parts/SearchBox.tsx'
import { showColumns, usual } from '../../records/view.ts'

/** Number of fields from which on they can be searched, and maximum number of fields listed at once. */
const many = 15
const most = 200

interface Parts {
  readonly entity: Entity
  readonly shown: readonly EntityField[]
}

/** A menu to choose the visible columns. */
export function Columns({ entity, shown }: Parts): JSX.Element {
  const [search, setSearch] = useState('')
  const names = new Set(shown.map(({ name }) => name))
  const found = entity.fields.filter(({ name, label = '' }) =>
    `${label} ${name}`.toLowerCase().includes(search.toLowerCase()),
  )
  const choose = (name: string, on: boolean) => {
    const inOrder = entity.fields.map(one => one.name).filter(one => (one === name ? on : names.has(one)))
    const now = shown.map(one => one.name)
    // A column comes to its place among the others, or behind them if they were moved.
    const isMoved = now.join('\n') !== inOrder.filter(one => names.has(one) && one !== name).join('\n')
    const chosen = on ? (isMoved ? [...now, name] : inOrder) : now.filter(one => one !== name)
    if (chosen.length > 0) showColumns(entity, chosen)
  }
  return (
    <Menu
      side="left"
      icon={Columns3}
      button={
        <>
          {t('columns')}
          <span class="soft number small">
            {shown.length < entity.fields.length &&
              t('columns.some', { shown: shown.length, all: formatNumber(entity.fields.length) })}
          </span>
        </>
      }
    >
      <div class="columns">
        {entity.fields.length > many && (
          <SearchBox label={t('columns.search')} value={search} onSearch={setSearch} />
        )}
        {found.slice(0, most).map(field => (
          <label key={field.name} class="check">
            <input
              type="checkbox"
              checked={names.has(field.name)}
              onChange={event => choose(field.name, event.currentTarget.checked)}
            />
            <span>
              <bdi>{labelOf(field)}</bdi> <span class="soft small">{tOf('type', field.type)}</span>
            </span>
          </label>
        ))}
        {found.length > most && <p class="menu-title">{t('columns.more', { n: found.length - most })}</p>}
        <Button
          look="menu"
          label={t('columns.usual')}
          onClick={() =>
            showColumns(
              entity,
              usual(entity).map(({ name }) => name),
              new Map(),
            )
          }
        />
      </div>
    </Menu>
  )
}
