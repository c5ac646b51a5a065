import { readFileSync } from 'node:fs'
import { type Counter, createCounter } from '../lib/counter.ts'
import { createFairQueue, type FairQueue } from '../lib/fair-queue.ts'
import { createRows, type QueueMeasures, type Rows } from '../lib/tally.ts'

/** Limits of simultaneous work, counted over all event loops of a service. */
export interface Limits extends LoginQueues {
  /** Files that are being sent. */
  readonly transfers: Counter
  /** Large pieces of files in memory. */
  readonly largePieces: Counter
  /** Maximum number of connections of clients to this event loop. */
  readonly connections: number
  /** Requests that have begun and are not answered. */
  readonly requests: Counter
  /** Returns the number of event loops that answer, and the number there should be. */
  readonly loops: () => Loops
  readonly phase: () => Phase
  /** Shared memory in which the event loops count for monitoring. */
  readonly rows: Rows
}

export interface LoginQueues {
  /** Queue for the hashing of passwords. */
  readonly passwords: FairQueue
  /** Queue for logins at the LDAP directory. */
  readonly directory: FairQueue
}

interface Loops {
  readonly running: number
  readonly wanted: number
  /** Number of event loops that ended since the service started and were replaced. */
  readonly replaced: number
}

/**
 * `starting`: the service answers, but what it was asked to add isn't there yet. `stopping`: it still answers, and
 * clients should turn to another node.
 */
export type Phase = 'ready' | 'starting' | 'stopping'
const phases: readonly Phase[] = ['ready', 'starting', 'stopping']

/** The phase of a service, in memory that its event loops share. */
export const phaseIn = (memory: Int32Array<ArrayBufferLike> = new Int32Array(1)) => ({
  get: (): Phase => phases[Atomics.load(memory, 0)] ?? 'ready',
  set: (phase: Phase): void => void Atomics.store(memory, 0, phases.indexOf(phase)),
})

interface PasswordLimits {
  readonly passwordConcurrency: number
  readonly passwordQueue: number
  readonly singleSignOn: { readonly directory: { readonly connections: number } | null } | null
}

/**
 * Creates a queue of one event loop, for work that clients wait for. Unless `maxWaiting` says otherwise, all
 * event loops together have 1,000 places. Each turn must come within 15 s.
 * @param loops number of event loops that share the places
 * @param max number of tasks that run at a time in this event loop
 */
export function createLoopQueue(
  loops: number,
  max: number,
  {
    maxWaiting = 1_000,
    measures,
    ...more
  }: { maxOfOne?: number; maxWaiting?: number; measures?: QueueMeasures } = {},
): FairQueue {
  const queue = createFairQueue({ max, maxWaiting: Math.ceil(maxWaiting / loops), maxWait: 15_000, ...more })
  if (measures) queue.measure(measures)
  return queue
}

/**
 * Creates the queues for logins by password. They are separate, so that a slow directory never delays logins
 * with passwords of the service itself.
 */
export function createLoginQueues({
  passwordConcurrency,
  passwordQueue,
  singleSignOn,
}: PasswordLimits): LoginQueues {
  return {
    // A single network may take all turns while no other network waits.
    passwords: createFairQueue({
      max: passwordConcurrency,
      maxOfOne: passwordConcurrency,
      maxWaiting: passwordQueue,
    }),
    directory: createFairQueue({
      max: singleSignOn?.directory?.connections ?? 1,
      maxWaiting: passwordQueue,
    }),
  }
}

/** Descriptors of a service without clients, and of each of its event loops while they start. */
const [ownDescriptors, loopDescriptors] = [64, 32]
/** Maximum number of connections of a service, however many descriptors it may have: each takes memory, too. */
const maxConnections = 16_384

/**
 * Returns the number of connections that a service takes. It leaves each connection a second descriptor, for the
 * file that it sends or receives.
 */
export function connectionsFor(loops: number): number {
  const free = descriptorLimit() - ownDescriptors - loops * loopDescriptors
  return Math.min(maxConnections, Math.max(8 * loops, Math.floor(free / 2)))
}

/** Returns the process's limit of descriptors, which only Linux tells (proc(5)). Node has raised it as far as it may. */
function descriptorLimit(): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
  } catch {
    return 4_096
  }
}

/** The limits of a service with one event loop. */
export const ownLimits = (config: PasswordLimits): Limits => ({
  ...createLoginQueues(config),
  transfers: createCounter(),
  largePieces: createCounter(),
  connections: connectionsFor(1),
  requests: createCounter(),
  loops: () => ({ running: 1, wanted: 1, replaced: 0 }),
  phase: phaseIn().get,
  rows: { ...createRows(), own: 0 },
})
