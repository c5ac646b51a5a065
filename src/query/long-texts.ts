import { Problem } from '../http/problems.ts'
import type { Awaitable } from '../lib/awaitable.ts'
import { StoreUnavailable } from '../lib/errors.ts'
import type { Client } from '../lib/fair-queue.ts'
import type { QueueMeasures } from '../lib/tally.ts'
import type { Thread, Threads } from '../lib/threads/thread.ts'
import { createLoopQueue, type Limits } from '../model/limits.ts'
import type { Plan } from '../model/plan.ts'
import { fieldsOf, indented, membersOf, type Parameters, valuesIn } from './bodies.ts'
import type { CountedRows, Counting, eventCounts } from './count-events.ts'
import { printAst } from './language/node.ts'
import type { LongTextHandlers, Outcome } from './long-texts-thread.ts'
import type { Asked } from './parse.ts'
import { type Change, type Known, planOf, readQuery, telling, withEntities } from './plan.ts'

/**
 * Reads, checks and writes texts of clients. Work that takes longer than a millisecond is done by a thread of
 * the service, in the turn of the client's network (docs/decisions/0034).
 */
export interface LongTexts {
  /** Makes a plan like `planOf`. @throws Problem; Overloaded if too much is waiting */
  plan(asked: Asked, known: Known, client: Client, change?: Change): Awaitable<Plan>
  /** Writes a query in any language as the JSON of its AST. @throws Problem 400 */
  ast(query: string, client: Client): Awaitable<string>
  /** Reads the parameters in the JSON body of a request. @throws Problem 400 */
  members(body: Uint8Array, client: Client): Awaitable<Parameters>
  /** Reads the parameters in the form of a request. @throws Problem 400 */
  fields(body: Uint8Array, client: Client): Awaitable<Parameters>
  /** Indents records for people to read. */
  indented(records: Uint8Array, client: Client): Awaitable<Uint8Array>
  /** Extracts the values of rows that have one each. */
  values(rows: Uint8Array, pretty: boolean, client: Client): Awaitable<Uint8Array>
  /** Counts events like the functions of the same names. */
  eventCounts(
    counted: readonly CountedRows[],
    how: Counting,
    client: Client,
  ): Promise<ReturnType<typeof eventCounts>>
  aggregateEventCounts(counted: readonly CountedRows[], how: Counting, client: Client): Promise<string>
  close(): Promise<void>
}

interface Parts {
  readonly threads: Threads
  readonly loops: Limits['loops']
  readonly measures: QueueMeasures
}

/** Length in characters of a query that is read and checked in less than a millisecond. */
const shortQuery = 2_000
/** Maximum size in bytes of JSON or a form that is read or written without the thread. */
const shortJson = 16_000

/** Finds regular expressions, a short one of which may take a millisecond. An escape may hide an operator. */
const hasExpressions = /~>|~.*~|\\u/s

const isShort = (query: string | undefined): boolean =>
  query === undefined || (query.length <= shortQuery && !hasExpressions.test(query))

export function createLongTexts({ threads, loops, measures }: Parts): LongTexts {
  // The thread gets two texts at a time, so that the next is at hand when one is done.
  const queue = createLoopQueue(loops().wanted, 2, { measures })

  let known: Thread<LongTextHandlers> | undefined
  /** The entities that the thread was told. */
  let told: Known['entities'] | undefined
  function thread(): Thread<LongTextHandlers> {
    if (!known || known.hasEnded) {
      known = threads.start<LongTextHandlers>('query/long-texts-thread', 0, null)
      told = undefined
    }
    return known
  }

  const inTurn = <T>(client: Client, work: (thread: Thread<LongTextHandlers>) => Promise<T>) =>
    queue.run(client, () => inThread(work(thread())))

  async function planInThread(asked: Asked, own: Known, client: Client, change?: Change): Promise<Plan> {
    const { entities, entity, mayRead } = own
    const readable = [...entities.values()].filter(mayRead).map(({ name }) => name)
    const question = { asked, entity: entity?.name ?? null, readable, change }
    const plan = await inTurn(client, thread => {
      // Calls are answered in order, so the plan is made with these entities.
      if (told !== entities) thread.call('know', [...entities.values()]).catch(() => {})
      told = entities
      return thread.call('plan', question)
    })
    return withEntities(resultOf(plan), entities)
  }

  /** Plans made by the thread. A request asks for its plan again if it has waited in between. */
  const plans = new WeakMap<Asked, { readonly entities: Known['entities']; readonly plan: Plan }>()

  return {
    plan: (asked, own, client, change) => {
      if (isShort(asked.query)) return planOf(asked, own, change)
      const before = plans.get(asked)
      if (before?.entities === own.entities) return before.plan
      return planInThread(asked, own, client, change).then(plan => {
        plans.set(asked, { entities: own.entities, plan })
        return plan
      })
    },
    ast: (query, client) =>
      isShort(query)
        ? telling(query, () => printAst(readQuery(query, null)))
        : inTurn(client, thread => thread.call('ast', query)).then(resultOf),
    members: (body, client) =>
      body.length <= shortJson
        ? membersOf(body)
        : inTurn(client, thread => thread.call('members', body)).then(resultOf),
    fields: (body, client) =>
      body.length <= shortJson
        ? fieldsOf(body)
        : inTurn(client, thread => thread.call('fields', body)).then(resultOf),
    indented: (records, client) =>
      records.length <= shortJson
        ? indented(records)
        : inTurn(client, thread => thread.call('indented', records)),
    values: (rows, pretty, client) =>
      rows.length <= shortJson
        ? valuesIn(rows, pretty)
        : inTurn(client, thread => thread.call('values', rows, pretty)),
    eventCounts: (counted, how, client) => inTurn(client, thread => thread.call('eventCounts', counted, how)),
    aggregateEventCounts: (counted, how, client) =>
      inTurn(client, thread => thread.call('aggregateEventCounts', counted, how)),
    close: async () => known?.close(),
  }
}

function resultOf<T>(outcome: Outcome<T>): T {
  if ('result' in outcome) return outcome.result
  throw new Problem(outcome.code, outcome.detail, { members: outcome.members })
}

/** The end of a thread is no failure of the store, so it becomes an error of another class. */
const inThread = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch(error => {
    throw error instanceof StoreUnavailable
      ? new Error('the thread for long texts has ended', { cause: error })
      : error
  })
