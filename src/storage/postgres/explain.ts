import { type Steps, stepsFrom } from '../plans/explain.ts'
import type { Statement } from '../tables/compile.ts'
import type { Connection, Value } from './driver.ts'

/** What a statement does (https://www.postgresql.org/docs/current/sql-explain.html). @param runs whether to run it, too */
export async function explainStatement(
  db: Connection,
  { sql, values }: Statement<Value>,
  runs: boolean,
): Promise<Steps> {
  const rows = await db.unnamedRows<{ 'QUERY PLAN': string }>(
    `EXPLAIN (COSTS OFF${runs ? ', ANALYZE, BUFFERS OFF' : ''}) ${sql}`,
    ...values,
  )
  const steps = rows.map(row => row['QUERY PLAN'])
  const index = /Index(?: Only)? Scan(?: Backward)? (?:using|on) (\S+)/
  const explained = stepsFrom(steps, index, /\bSeq Scan\b/)
  if (!runs) return explained
  const [, count = '0'] = /actual .*?rows=(\d+)/.exec(steps[0] ?? '') ?? []
  const [time = '0'] = steps.flatMap(step => /^Execution Time: ([\d.]+)/.exec(step)?.[1] ?? [])
  return { ...explained, ran: { rows: Number(count), milliseconds: Math.round(Number(time)) } }
}
