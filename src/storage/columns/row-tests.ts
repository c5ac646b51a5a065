import type { FieldType } from '../../model/entities.ts'
import { type Condition, holdsIfMissing } from '../../model/plan.ts'
import { memberAt } from '../plans/json-values.ts'
import { testOf } from './value-tests.ts'
import { typedValue } from './values.ts'

/** A column of rows. */
export interface RowColumn {
  readonly name: string
  readonly type: FieldType
  readonly collation: string | undefined
}

/** What a condition says of a row. Its fields are the names of columns; `json` reads the value of the column at a place. */
type RowTest = (json: (place: number) => string) => boolean

/** @throws Error for a condition that rows can't be asked */
export function rowTest(condition: Condition, columns: readonly RowColumn[]): RowTest {
  switch (condition.kind) {
    case 'and': {
      const tests = condition.of.map(one => rowTest(one, columns))
      return json => tests.every(test => test(json))
    }
    case 'or': {
      const tests = condition.of.map(one => rowTest(one, columns))
      return json => tests.some(test => test(json))
    }
    case 'none':
      return () => false
    case 'in plan':
    case 'in rows':
    case 'text':
      throw new Error('rows can only be compared with constants')
    default: {
      const { field, negated } = condition
      const place = columns.findIndex(({ name }) => name === field.name)
      const column = columns[place]
      if (!column) throw new Error('a condition on rows names no column')
      const type = field.path.length > 0 ? 'json' : column.type
      const test = condition.kind === 'null' ? () => true : testOf(condition, type, column.collation)
      // To be null is not to have a value.
      const wanted = condition.kind === 'null' ? negated : !negated
      const ifMissing = condition.kind === 'null' ? !negated : holdsIfMissing(condition)
      return json => {
        const value = memberAt(typedValue(json(place), type), field.path)
        if (value === undefined) return ifMissing
        return test(value) === wanted
      }
    }
  }
}
