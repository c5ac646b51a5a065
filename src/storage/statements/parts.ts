import type { Awaitable } from '../../lib/awaitable.ts'
import { alerts } from './alerts.ts'
import { processes } from './processes.ts'
import { registry } from './registry.ts'
import { repository } from './repository.ts'
import type { Change, Read, Statements, StatementsOf } from './statements.ts'
import { trail } from './trail.ts'

/**
 * The parts of the storage that are written once. Each has all methods of its interface, but for those that an engine adds
 * because it does them in its own way.
 */
export const parts = { alerts, processes, registry, repository, trail }

export type PartName = keyof typeof parts

/** A part as an engine offers it. */
export type Offered<N extends PartName> = {
  readonly [K in keyof (typeof parts)[N]['reads']]: Running<(typeof parts)[N]['reads'][K], 'read'>
} & { readonly [K in keyof (typeof parts)[N]['changes']]: Running<(typeof parts)[N]['changes'][K], 'change'> }
type Running<F, How> = F extends (...args: infer A) => Statements<infer R>
  ? (...args: A) => How extends 'read' ? Awaitable<R> : Promise<R>
  : never

type Work = (...args: readonly unknown[]) => Statements<unknown>

/** Makes a part of its statements. @param read runs what reads @param change runs a change, by its name and itself */
export function offer<N extends PartName>(
  name: N,
  read: (work: Read<unknown>) => Awaitable<unknown>,
  change: (method: string, work: () => Change<unknown>, args: readonly unknown[]) => Promise<unknown>,
): Offered<N> {
  const { reads, changes } = parts[name] as unknown as StatementsOf<Record<string, Work>>
  const offered: Record<string, (...args: readonly unknown[]) => unknown> = {}
  for (const [method, work] of Object.entries(reads as Record<string, Work>))
    offered[method] = (...args) => read(work(...args))
  for (const [method, work] of Object.entries(changes as Record<string, Work>))
    offered[method] = (...args) => change(method, () => work(...args), args)
  return offered as Offered<N>
}

/** A change by the name of its part and its own. */
export const changeNamed = (part: string, method: string): Work => {
  const { changes } = parts[part as PartName] as unknown as StatementsOf<Record<string, Work>>
  const work = (changes as Record<string, Work>)[method]
  if (!work) throw new Error(`there is no change ${part}.${method}`)
  return work
}
