import type { Awaitable } from '../../lib/awaitable.ts'
import type { Client } from '../../lib/fair-queue.ts'
import { accessTokens } from './access-tokens.ts'
import { attempts } from './attempts.ts'
import { clock } from './clock.ts'
import { entities } from './entities.ts'
import { factors } from './factors.ts'
import { identities } from './identities.ts'
import { people } from './people.ts'
import { alerts, processes } from './processes.ts'
import { trail } from './prune-trail.ts'
import { registry } from './registry.ts'
import { repository } from './repository.ts'
import { sessions } from './sessions.ts'
import type { Change, Read, Statements } from './statements.ts'

/**
 * The parts of the storage that are written once. Each has all methods of its interface, except those that
 * the engines implement in their own ways.
 */
export const parts = {
  accessTokens,
  alerts,
  attempts,
  clock,
  entities,
  factors,
  identities,
  people,
  processes,
  registry,
  repository,
  sessions,
  trail,
}

export type PartName = keyof typeof parts

/** A part as an engine offers it. */
export type Offered<N extends PartName> = {
  readonly [K in keyof (typeof parts)[N]['reads']]: Running<(typeof parts)[N]['reads'][K], 'read'>
} & {
  readonly [K in keyof (typeof parts)[N]['changes']]: Running<(typeof parts)[N]['changes'][K], 'change'>
} & { readonly [K in keyof Searches<N>]: Searching<Searches<N>[K]> }
type Running<F, How> = F extends (...args: infer A) => Statements<infer R>
  ? (...args: A) => How extends 'read' ? Awaitable<R> : Promise<R>
  : never
type Searches<N extends PartName> = (typeof parts)[N] extends { readonly searches: infer S } ? S : unknown
type Searching<F> = F extends (...args: infer A) => Statements<infer R>
  ? (...args: [...A, Client]) => Awaitable<R>
  : never

type Work = (...args: readonly unknown[]) => Statements<unknown>

/** The functions with which an engine runs the statements of a part. */
export interface Runners {
  read(work: Read<unknown>): Awaitable<unknown>
  /** @param method the name of the change */
  change(method: string, work: () => Change<unknown>, args: readonly unknown[]): Promise<unknown>
  search(method: string, args: readonly unknown[], client: Client): Awaitable<unknown>
}

/** Makes a part from its statements. */
function offer<N extends PartName>(name: N, { read, change, search }: Runners): Offered<N> {
  const { reads, changes, searches = {} } = statementsOf(name)
  const offered: Record<string, (...args: readonly unknown[]) => unknown> = {}
  for (const [method, work] of Object.entries(reads)) offered[method] = (...args) => read(work(...args))
  for (const [method, work] of Object.entries(changes))
    offered[method] = (...args) => change(method, () => work(...args), args)
  for (const method of Object.keys(searches))
    offered[method] = (...args) => search(method, args.slice(0, -1), args.at(-1) as Client)
  return offered as Offered<N>
}

/** Makes all parts. @param runners returns the functions with which an engine runs the statements of a part */
export const offerAll = (runners: (name: PartName) => Runners) =>
  Object.fromEntries(
    (Object.keys(parts) as PartName[]).map(name => [name, offer(name, runners(name))]),
  ) as unknown as { readonly [N in PartName]: Offered<N> }

/** A change or a search, by the name of its part and its own. */
export function statementsNamed(kind: 'changes' | 'searches', part: string, method: string): Work {
  const work = statementsOf(part as PartName)[kind]?.[method]
  if (!work) throw new Error(`there is no ${part}.${method} among the ${kind}`)
  return work
}

type Group = Readonly<Record<string, Work>>
const statementsOf = (name: PartName) =>
  parts[name] as unknown as { readonly reads: Group; readonly changes: Group; readonly searches?: Group }
