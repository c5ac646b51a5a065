import type { Declared, FieldsChange } from '../../administration/declared.ts'
import { a } from '../../i18n/admin.ts'
import { tOf } from '../../i18n/i18n.ts'
import { valueIn } from './FieldForm.tsx'

type Type = Declared['fields'][number]['type']

/** A field as it is to be. */
export interface Row {
  readonly id: string
  /** The field as it is; undefined for a new one. */
  readonly was: Declared['fields'][number] | undefined
  readonly name: string
  readonly type: Type
  readonly isGone: boolean
  /** The value of a new field in the records that are there; empty: none. */
  readonly default: string
}

export const rowOf = (was: Declared['fields'][number]): Row => ({
  id: `field ${was.name}`,
  was,
  name: was.name,
  type: was.type,
  isGone: false,
  default: '',
})

export const newRow: Row = { id: '', was: undefined, name: '', type: 'text', isGone: false, default: '' }

interface Change {
  readonly id: string
  readonly words: string
  /** The values that take it back; undefined for a new field, which is dropped. */
  readonly back: Partial<Row> | undefined
}

/** The changes of a row in words. */
export function changesIn(row: Row): readonly Change[] {
  const { id, was, type, isGone, default: value } = row
  const name = row.name.trim()
  if (!was) {
    if (name === '') return []
    const values = { name, type: tOf('type', type), value }
    const words = a(value === '' || type === 'json' ? 'fields.added' : 'fields.added.value', values)
    return [{ id, words, back: undefined }]
  }
  if (isGone) return [{ id, words: a('fields.removed', { name: was.name }), back: { isGone: false } }]
  const isRenamed = name !== was.name && name !== ''
  return [
    ...(isRenamed
      ? [{ id, words: a('fields.renamed', { name: was.name, next: name }), back: { name: was.name } }]
      : []),
    ...(type === was.type
      ? []
      : [
          {
            id,
            words: a('fields.retyped', {
              name: was.name,
              was: tOf('type', was.type),
              next: tOf('type', type),
            }),
            back: { type: was.type },
          },
        ]),
  ]
}

/** The changes of all rows as they are sent. */
export function fieldsChange(rows: readonly Row[]): FieldsChange {
  const stay = rows.flatMap(({ was, isGone, ...row }) =>
    was && !isGone ? [{ ...row, was, name: row.name.trim() || was.name }] : [],
  )
  const add = rows.flatMap(({ was, name, type, default: value }) =>
    was || name.trim() === ''
      ? []
      : [
          {
            name: name.trim(),
            type,
            ...(value !== '' &&
              type !== 'json' && { default: valueIn(value, type) as string | number | boolean }),
          },
        ],
  )
  const remove = rows.flatMap(({ was, isGone }) => (was && isGone ? [was.name] : []))
  const rename = stay.filter(({ was, name }) => name !== was.name).map(({ was, name }) => [was.name, name])
  const retyped = stay.filter(({ was, type }) => type !== was.type).map(({ was, type }) => [was.name, type])
  return {
    ...(add.length > 0 && { add }),
    ...(remove.length > 0 && { remove }),
    ...(rename.length > 0 && { rename: Object.fromEntries(rename) as Readonly<Record<string, string>> }),
    ...(retyped.length > 0 && { types: Object.fromEntries(retyped) as Readonly<Record<string, Type>> }),
  }
}
