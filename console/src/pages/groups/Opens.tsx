import type { JSX } from 'preact'
import { adminPath, type Declared, entitiesAddress } from '../../administration/declared.ts'
import { service } from '../../api.ts'
import { type DataRecord, loadPage } from '../../entities.ts'
import { a } from '../../i18n/admin.ts'
import { tOf } from '../../i18n/i18n.ts'
import { NameLink } from '../../parts/controls.tsx'
import { useLoad } from '../../parts/load.ts'
import { Pending } from '../../parts/states.tsx'
import { cut } from '../../parts/Value.tsx'
import { literally } from '../../query/conditions.ts'
import { written } from '../../query/pql.ts'
import { itemPath } from '../../records/items.ts'
import { href, withQuery } from '../../router.ts'

/** Number of items listed; a link leads to all. */
const listed = 10

/** Maximum number of collections of records looked at. */
const mostEntities = 500

async function loadOpened(group: string, signal: AbortSignal) {
  const rule = `group:${group}`
  const items = `${written('readers')} ~ ${JSON.stringify(literally(`"reader": ${JSON.stringify(rule)}`))}`
  const list = service.value.list<Declared>(entitiesAddress)
  const pages = Array.from({ length: mostEntities / 100 }, (_, at) => at)
  const entities: Declared[] = []
  for (const page of pages) {
    const found = (await list.page(page, 100, signal)).items
    entities.push(...found.filter(({ read, write }) => read === rule || write === rule))
    if (found.length < 100) break
  }
  const query = JSON.stringify(['~', 'readers', literally(`"reader": ${JSON.stringify(rule)}`)])
  const opened = await loadPage('items', { query, limit: listed }, signal)
  return { rule, entities, condition: items, ...opened }
}

/** The collections of records, and items, that a group lets its members read or write. */
export function Opens({ group }: { readonly group: string }): JSX.Element {
  const { value, problem, reload } = useLoad(signal => loadOpened(group, signal), [group])
  if (problem || !value) return <Pending problem={problem} retry={reload} lines={2} />
  const { rule, entities, records, total, condition } = value
  if (entities.length === 0 && total === 0) return <p class="soft">{a('group.opens.none')}</p>
  const titleOf = ({ title, identifier }: DataRecord) => cut(String(title ?? identifier), 200)
  return (
    <ul class="stack">
      {entities.map(({ name, read, write }) => (
        <li key={name}>
          <NameLink to={adminPath(name)} name={tOf('entity', name)} />{' '}
          <span class="soft small">
            {a(
              read !== rule ? 'group.opens.write' : write === rule ? 'group.opens.both' : 'group.opens.read',
            )}
          </span>
        </li>
      ))}
      {records.map(item => (
        <li key={String(item.uuid)}>
          <NameLink to={itemPath(String(item.uuid))} name={titleOf(item)} />{' '}
          <span class="soft small">{a('group.opens.item')}</span>
        </li>
      ))}
      {total > records.length && (
        <li>
          <a href={href(withQuery('entities/items', { q: condition }))}>
            {a('group.opens.all', { n: total })}
          </a>
        </li>
      )}
    </ul>
  )
}
