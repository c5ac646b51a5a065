import type { JSX } from 'preact'
import { service } from '../api.ts'
import { query } from '../router.ts'
import { who } from '../session.ts'
import { useLoad } from './load.ts'
import { AddressPager } from './Pager.tsx'
import { Pending, Progress } from './states.tsx'
import { type Column, Table } from './Table.tsx'

interface Parts<Row> {
  readonly label: string
  /** Path of a list in DSpace's form. */
  readonly path: string
  readonly parameters?: Readonly<Record<string, string | undefined>>
  readonly columns: readonly Column<Row>[]
  readonly idOf: (row: Row) => string
  readonly pathOf?: (row: Row) => string | undefined
  readonly empty: JSX.Element
  /** The list is loaded again when this number changes. */
  readonly version?: number
  /** The parameter of the address that holds the page. Two lists on one page need two names. */
  readonly name?: string
  readonly size?: number
}

/** A list of the service, shown page by page. */
export function HalTable<Row>(parts: Parts<Row>): JSX.Element {
  const { label, path, parameters = {}, columns, idOf, pathOf, empty, version = 0 } = parts
  const { name = 'page', size = 50 } = parts
  const page = Math.max(1, Math.trunc(Number(query.value.get(name))) || 1)
  const { value, problem, loading, reload } = useLoad(
    signal => service.value.list<Row>(path, { query: parameters }).page(page - 1, size, signal),
    [path, JSON.stringify(parameters), page, size, version, who.value],
  )
  if (problem || !value) return <Pending problem={problem} retry={reload} />
  if (value.total === 0) return empty
  return (
    <div class="stale" aria-busy={loading}>
      <Progress busy={loading} />
      <Table
        label={label}
        columns={columns}
        rows={value.items}
        idOf={idOf}
        pathOf={pathOf ?? (() => undefined)}
        whole
      />
      <AddressPager name={name} page={page} size={size} total={value.total} />
    </div>
  )
}
