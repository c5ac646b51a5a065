import { Problem, type ProblemCode } from '../http/problems.ts'
import { lowerPriority, serveThread } from '../lib/threads/thread.ts'
import type { Entity } from '../model/entities.ts'
import type { Plan } from '../model/plan.ts'
import { fieldsOf, indented, membersOf, valuesIn } from './bodies.ts'
import { aggregateEventCounts, eventCounts } from './count-events.ts'
import { printAst } from './language/node.ts'
import type { Asked } from './parse.ts'
import { type Change, planOf, readQuery, shortened, telling } from './plan.ts'

/** The service's thread for texts that take long to read, check or write (docs/decisions/0034). */

/**
 * A result or a problem. Errors lose their class between threads, and a wrong request must not look like a
 * broken thread.
 */
export type Outcome<T> =
  | { readonly result: T }
  | {
      readonly code: ProblemCode
      readonly detail: string
      readonly members: Readonly<Record<string, unknown>>
    }

function outcomeOf<T>(work: () => T): Outcome<T> {
  try {
    return { result: work() }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { code: error.code, detail: error.message, members: error.members }
  }
}

/** A query to be planned, and what it may use. */
interface Question {
  readonly asked: Asked
  /** The entity of the address; null at the query base. */
  readonly entity: string | null
  /** The entities that the caller may read. */
  readonly readable: readonly string[]
  readonly change: Change | undefined
}

/** Makes the handlers of one event loop. */
function createHandlers() {
  let entities: ReadonlyMap<string, Entity> = new Map()
  return {
    /** Sets the entities that later calls use. */
    know(all: readonly Entity[]): void {
      entities = new Map(all.map(entity => [entity.name, entity]))
    },

    plan({ asked, entity, readable, change }: Question): Outcome<Plan> {
      const may = new Set(readable)
      const known = {
        entities,
        entity: entity === null ? null : (entities.get(entity) ?? null),
        mayRead: ({ name }: Entity) => may.has(name),
      }
      return outcomeOf(() => shortened(planOf(asked, known, change)))
    },

    ast: (query: string): Outcome<string> =>
      outcomeOf(() => telling(query, () => printAst(readQuery(query, null)))),

    members: (body: Uint8Array) => outcomeOf(() => membersOf(body)),

    fields: (body: Uint8Array) => outcomeOf(() => fieldsOf(body)),

    indented,

    values: valuesIn,
    eventCounts,
    aggregateEventCounts,
  }
}

export type LongTextHandlers = ReturnType<typeof createHandlers>

// The priority is below that of the event loops, and above that of long listings.
lowerPriority(5)
serveThread(() => {
  const connect = () => ({ handlers: createHandlers(), close: () => {} })
  return { ...connect(), connect }
})
