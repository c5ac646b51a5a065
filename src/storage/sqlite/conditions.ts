import type { Condition } from '../../model/plan.ts'
import { joinBalanced } from '../tables/cells.ts'
import { compare, matches, pathMatches, type Scope, valueSql } from './comparisons.ts'
import { inPlan, inRows, inValues } from './memberships.ts'
import { searchCondition } from './text-search.ts'

/** Conditions as SQL (Q20, Q21). What isn't true of a record may be false or NULL. */
export function compileCondition(condition: Condition, scope: Scope): string {
  switch (condition.kind) {
    case 'and':
    case 'or': {
      // SQLite looks for an index of each alternative, and sees nothing but that (https://sqlite.org/optoverview.html#or_optimizations).
      const own = condition.kind === 'or' && scope.own !== undefined ? `${scope.own} AND ` : ''
      const terms = condition.of.map(one =>
        own === '' ? `(${compileCondition(one, scope)})` : `(${own}(${compileCondition(one, scope)}))`,
      )
      if (terms.length === 0) return condition.kind === 'and' ? '1' : '0'
      return joinBalanced(terms, condition.kind === 'and' ? 'AND' : 'OR')
    }
    case 'none':
      return '0'
    case 'null':
      return `${valueSql(condition.field, scope)} IS ${condition.negated ? 'NOT ' : ''}NULL`
    case 'compare':
      return compare(condition, scope)
    case 'in':
      return inValues(condition, scope)
    case 'in plan':
      return inPlan(condition, scope)
    case 'in rows':
      return inRows(condition, scope)
    case 'matches':
      return matches(condition, scope)
    case 'path matches':
      return pathMatches(condition, scope)
    case 'text': {
      const values = condition.fields.map(field => ({
        sql: valueSql(field, scope),
        isJson: scope.cell(field).kind === 'json',
      }))
      return searchCondition(values, condition, scope.bind)
    }
  }
}
