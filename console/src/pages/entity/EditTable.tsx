import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CarrelProblem } from '../../api.ts'
import { type DataRecord, type Entity, type EntityField, keyOf, keyText } from '../../entities.ts'
import { t } from '../../i18n/i18n.ts'
import { Pencil } from '../../icons.ts'
import { IconButton } from '../../parts/controls.tsx'
import { Notice } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/Table.tsx'
import { RecordDialog } from '../../records/RecordDialog.tsx'
import { changed } from '../../records/undo.ts'
import { type Edits, isSame, kindOf, type Typed } from '../../records/values.ts'
import { change, load, loadAgain, type Stored, writeAgain } from '../../records/writing.ts'
import { href, withQuery } from '../../router.ts'
import { isAdministrator } from '../../session.ts'
import { CellEditor } from './CellEditor.tsx'
import { type Ticked, Ticks, tickColumn } from './Ticks.tsx'
import { type Place, usePlaces } from './use-places.ts'
import '../../records/edit.css'

type TableParts = Parameters<typeof Table<DataRecord>>[0]

interface Parts extends TableParts {
  readonly entity: Entity
  /** The condition of the view, in PQL; empty: all records. */
  readonly condition: string
  /** The number of records that it finds. */
  readonly total: number
  /** The fields that are shown, in the order of the columns. */
  readonly fields: readonly EntityField[]
}

/** The form that lies over the table. */
interface Opened {
  readonly stored: Stored
  readonly focus?: string
  readonly lost?: { readonly edits: Edits; readonly now: Stored | undefined }
}

/** The table of records in which cells are edited in place. */
export function EditTable({ entity, fields, condition, total, ...table }: Parts): JSX.Element {
  const { rows, columns } = table
  const [editing, setEditing] = useState<Place & { readonly first: Typed | undefined }>()
  const [form, setForm] = useState<Opened>()
  const [problem, setProblem] = useState<unknown>()
  const [ticked, setTicked] = useState<Ticked>(new Set())
  const latest = useRef<Promise<Stored>>(undefined)
  const keys = new Set(keyOf(entity))
  const rowOf = (record: DataRecord) => keyText(entity, record)
  const ids = rows.map(rowOf)
  const names = columns.map(({ id }) => id)
  // Only ticked records that are on the screen are chosen.
  const chosen = ticked === 'all' ? new Set(ids) : new Set(ids.filter(id => ticked.has(id)))
  useEffect(() => setTicked(new Set()), [condition])
  const { whole, current, first, setAt, focusOn, moved, nextOf } = usePlaces(ids, names, keys, rows)
  const recordAt = (place: Place) => rows[ids.indexOf(place.row)]
  const fieldAt = ({ field }: Place) => fields.find(({ name }) => name === field)

  function tell(error: unknown): void {
    setProblem(error)
  }

  /** Opens the form of a record, which has room for what a cell has none for. */
  function openForm(place: Place): void {
    load(entity, place.row).then(stored => setForm({ stored, focus: place.field }), tell)
  }

  function begin(place: Place, first?: Typed): void {
    const [record, field] = [recordAt(place), fieldAt(place)]
    if (!record || !field) return
    setProblem(undefined)
    setAt(place)
    const kind = kindOf(field, record[field.name])
    if (keys.has(field.name) || kind === 'json' || kind === 'list' || kind === 'long') {
      openForm(place)
      return
    }
    // The record is read while its value is typed, so that saving takes one request.
    latest.current = load(entity, place.row)
    latest.current.catch(() => {})
    setEditing({ ...place, first })
  }

  /** @returns false if the editor has to stay open */
  async function save(place: Place, json: string, typed: Typed): Promise<boolean> {
    const shown = recordAt(place)
    if (!shown) return true
    const now = await (latest.current ?? load(entity, place.row)).catch((error: unknown) => {
      latest.current = undefined
      throw error
    })
    const edits = { [place.field]: typed }
    const seen = { ...now, record: { ...now.record, [place.field]: shown[place.field] ?? null } }
    // The cell may have shown another value than the one that is there.
    if (!isSame(now.record[place.field], shown[place.field])) {
      setForm({ stored: { ...seen, text: JSON.stringify(seen.record) }, lost: { edits, now } })
      return true
    }
    try {
      const written = await change(entity, now, { [place.field]: json })
      changed(t('edit.saved', { name: place.row }), () => writeAgain(entity, now, written))
      return true
    } catch (error) {
      if (!(error instanceof CarrelProblem) || (error.status !== 412 && error.status !== 404)) throw error
      setForm({ stored: now, lost: { edits, now: await loadAgain(entity, now.record) } })
      return true
    }
  }

  /** Takes the value of a cell away. */
  function clear(place: Place): void {
    const [record, field] = [recordAt(place), fieldAt(place)]
    if (!record || !field || keys.has(field.name) || isSame(record[field.name], null)) return
    latest.current = load(entity, place.row)
    save(place, 'null', null).catch(tell)
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (!(event.target instanceof HTMLTableCellElement) || !current) return
    const { key, ctrlKey, metaKey, altKey } = event
    const isPlain = !ctrlKey && !metaKey && !altKey
    const step = steps[key]
    if (step && isPlain) {
      event.preventDefault()
      focusOn(moved(current, ...step))
    } else if (key === 'Enter' || key === 'F2') {
      event.preventDefault()
      begin(current)
    } else if (key === 'Delete' && isPlain) {
      event.preventDefault()
      clear(current)
    } else if (key.length === 1 && key !== ' ' && isPlain) {
      event.preventDefault()
      begin(current, key)
    }
  }

  /** Pastes one value into the editor of a cell. A block of cells is a change of several records. */
  function onPaste(event: ClipboardEvent): void {
    if (!(event.target instanceof HTMLTableCellElement) || !current) return
    const text = (event.clipboardData?.getData('text/plain') ?? '').replace(/\r?\n$/, '')
    if (text === '') return
    event.preventDefault()
    if (/[\t\r\n]/.test(text)) setProblem(blockPasted)
    else begin(current, text)
  }

  const edited: readonly Column<DataRecord>[] = columns.map(column => ({
    ...column,
    cell: record => {
      const field = fields.find(({ name }) => name === column.id)
      const place = { row: rowOf(record), field: column.id }
      if (!field || !isAt(editing, place)) return column.cell(record)
      return (
        <CellEditor
          field={field}
          value={record[field.name]}
          first={editing?.first}
          save={(json, typed) => save(place, json, typed)}
          onDone={step => {
            setEditing(undefined)
            const next = step === 0 ? undefined : nextOf(place, step)
            if (next) begin(next)
            else focusOn(place)
          }}
          onLeave={() => setEditing(now => (isAt(now, place) ? undefined : now))}
        />
      )
    },
  }))
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the cells inside
    <div class="edit-table" ref={whole} onKeyDown={onKeyDown} onPaste={onPaste}>
      {problem === blockPasted ? (
        <PastedBlock entity={entity} />
      ) : (
        problem !== undefined && (
          <Notice tone="bad">
            {problem instanceof Error ? <span lang="en">{problem.message}</span> : t('failed')}
          </Notice>
        )
      )}
      <Ticks
        entity={entity}
        ids={ids}
        chosen={chosen}
        condition={condition}
        total={total}
        ticked={ticked}
        setTicked={setTicked}
      />
      <Table
        {...table}
        columns={[tickColumn(entity, ids, chosen, setTicked), ...edited, openColumn(entity, openForm)]}
        cellProps={(record, field) => {
          if (!names.includes(field)) return {}
          const place = { row: rowOf(record), field }
          return {
            'data-row': place.row,
            'data-field': field,
            tabIndex: isAt(current ?? first, place) && !isAt(editing, place) ? 0 : -1,
            onFocus: (event: FocusEvent) => event.target === event.currentTarget && setAt(place),
            onDblClick: (event: MouseEvent) => {
              if (isAt(editing, place) || (event.target as Element).closest('a')) return
              begin(place)
            },
          } as JSX.IntrinsicElements['td']
        }}
      />
      {form && (
        <RecordDialog
          entity={entity}
          {...form}
          onClose={() => {
            setForm(undefined)
            focusOn(current)
          }}
        />
      )}
    </div>
  )
}

const isAt = (one: Place | undefined, other: Place): boolean =>
  one?.row === other.row && one.field === other.field

/** Rows down and columns to the right, by key. */
const steps: Readonly<Record<string, readonly [down: number, right: number]>> = {
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
}

const openColumn = (entity: Entity, open: (place: Place) => void): Column<DataRecord> => ({
  id: '\0open',
  label: <span class="sr-only">{t('edit.do')}</span>,
  cell: record => {
    const row = keyText(entity, record)
    return (
      <IconButton
        icon={Pencil}
        size={16}
        label={t('edit.of', { name: row })}
        onClick={() => open({ row, field: entity.fields[0]?.name ?? '' })}
      />
    )
  },
})

/** Stands for a paste of several cells, which a table doesn't take. */
const blockPasted = Symbol('pasted')

/** Says what to do instead of pasting a block of cells. */
const PastedBlock = ({ entity }: { readonly entity: Entity }): JSX.Element => (
  <Notice tone="warn">
    {t('edit.paste.block')}{' '}
    {isAdministrator.value ? (
      <a href={href(withQuery('admin/import', { entity: entity.name }))}>{t('edit.paste.import')}</a>
    ) : (
      t('edit.paste.ask')
    )}
  </Notice>
)
