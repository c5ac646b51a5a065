import type { Client } from '../../lib/fair-queue.ts'
import type { Plan } from '../../model/plan.ts'
import type { Viewer } from '../../model/readers.ts'
import type { RecordFormat } from '../../model/record-format.ts'
import type { Entities, Listing, RecordPlan } from '../entities.ts'
import { type Explanation, explanationOf } from './explain.ts'
import { hasPlans, resolvePlans } from './resolve-plans.ts'

/** Runs plans on imported records. */
interface OnRecords {
  list(plan: RecordPlan, format: RecordFormat, client: Client): Promise<Listing>
  explain(plan: RecordPlan, client: Client, runs: boolean): Promise<Explanation>
}

/** Runs plans on tables. */
interface OnTables {
  list(plan: Plan, viewer: Viewer, format: RecordFormat, client: Client): Promise<Listing>
  explain(plan: Plan, viewer: Viewer, client: Client, runs: boolean): Promise<Explanation>
}

const isOnRecords = (plan: Plan): plan is RecordPlan => plan.entity.source.kind === 'records'

/** Runs any plan, those inside of it first if they can't be run in place. @param engine its name in explanations */
export function createPlanRunner(
  engine: string,
  records: OnRecords,
  tables: OnTables,
): Pick<Entities, 'list' | 'explain'> {
  const list: Entities['list'] = async (given, viewer, format, client) => {
    const plan = hasPlans(given) ? await resolvePlans(given, listInner(viewer, client)) : given
    return isOnRecords(plan) ? records.list(plan, format, client) : tables.list(plan, viewer, format, client)
  }
  const listInner = (viewer: Viewer, client: Client) => (inner: Plan) => list(inner, viewer, 'ndjson', client)

  const explain: Entities['explain'] = async (given, viewer, client, runs) => {
    const isRecords = isOnRecords(given)
    const name = isRecords ? 'records' : engine
    if (!isRecords && viewer.kind !== 'administrator') return explanationOf(name, given, viewer, undefined)
    // A statement needs rows in the place of subqueries that would have to be run first.
    const plan =
      runs || !isRecords ? await resolvePlans(given, runs ? listInner(viewer, client) : noRows) : given
    const more = isOnRecords(plan)
      ? records.explain(plan, client, runs)
      : tables.explain(plan, viewer, client, runs)
    return explanationOf(name, given, viewer, await more)
  }
  return { list, explain }
}

const noRows = async (): Promise<Listing> => ({ total: undefined, more: undefined, body: new Uint8Array() })
