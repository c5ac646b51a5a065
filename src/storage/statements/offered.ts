import type { Awaitable } from '../../lib/awaitable.ts'
import type { Client } from '../../lib/fair-queue.ts'
import type { Change, Offered, Read, Statements } from './statements.ts'

type Work = (...args: never[]) => Statements<unknown>
type Group = Readonly<Record<string, Work>>

/** The statements of a part: reads, changes that run in a transaction each, and reads that may take long. */
export interface PartStatements {
  readonly reads: Group
  readonly changes: Group
  readonly searches?: Group
}
export type Parts = Readonly<Record<string, PartStatements>>

export type AllOffered<P extends Parts> = { readonly [N in keyof P]: Offered<P[N]> }

/** The functions with which an engine runs the statements of a part. */
export interface Runners {
  read(work: Read<unknown>): Awaitable<unknown>
  /** @param method the name of the change */
  change(method: string, work: () => Change<unknown>, args: readonly unknown[]): Promise<unknown>
  search(method: string, args: readonly unknown[], client: Client): Awaitable<unknown>
}

/** Makes a part from its statements. */
function offer(
  { reads, changes, searches = {} }: PartStatements,
  { read, change, search }: Runners,
): Readonly<Record<string, unknown>> {
  const offered: Record<string, (...args: never[]) => unknown> = {}
  for (const [method, work] of Object.entries(reads)) offered[method] = (...args) => read(work(...args))
  for (const [method, work] of Object.entries(changes))
    offered[method] = (...args) => change(method, () => work(...args), args)
  for (const method of Object.keys(searches))
    offered[method] = (...args) => search(method, args.slice(0, -1), args.at(-1) as unknown as Client)
  return offered
}

/** Makes all parts. @param runners returns the functions with which an engine runs the statements of a part */
export const offerAll = <P extends Parts>(parts: P, runners: (name: string) => Runners): AllOffered<P> =>
  Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [name, offer(part, runners(name))]),
  ) as AllOffered<P>

/** Finds a change or a search among all parts, by the name of its part and its own. */
export function statementsNamed(
  parts: Parts,
  kind: 'changes' | 'searches',
  part: string,
  method: string,
): (...args: readonly unknown[]) => Statements<unknown> {
  const work = parts[part]?.[kind]?.[method]
  if (!work) throw new Error(`there is no ${part}.${method} among the ${kind}`)
  return work as (...args: readonly unknown[]) => Statements<unknown>
}
