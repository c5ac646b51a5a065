import { type Steps, stepsFrom } from '../plans/explain.ts'
import type { TablePlan } from './compile.ts'
import { choose } from './cursor.ts'
import type { Database } from './driver.ts'

/** What the statement of a page does (https://sqlite.org/eqp.html). @param runs whether to run it, too */
export function explainPage(db: Database, plan: TablePlan, runs: boolean): Steps & { readonly sql: string } {
  const { page } = choose(db, plan)
  const steps = db
    .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${page.sql}`, ...page.values)
    .map(({ detail }) => detail)
  const index = /\bUSING (?:COVERING )?(?:INDEX (\S+)|(INTEGER PRIMARY KEY))/
  const scan = /^SCAN (?!json_each|\(subquery|[ders]\b)/
  const explained = { sql: page.sql, ...stepsFrom(steps, index, scan) }
  if (!runs) return explained
  const begun = performance.now()
  const rows = db.all(page.sql, ...page.values).length
  return { ...explained, ran: { rows, milliseconds: Math.round(performance.now() - begun) } }
}
