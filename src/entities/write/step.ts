import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { eventOf } from '../../http/audit.ts'
import type { Problem } from '../../http/problems.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { KnownToWrite } from '../../query/readable.ts'
import type { Entities } from '../../storage/entities.ts'
import type { Reliance } from '../../storage/single-records.ts'
import type { Trail } from '../../storage/trail.ts'
import type { Made } from './change.ts'
import { checkStep, type Guess, StepRefused } from './other-records.ts'

export interface Checking {
  readonly entities: Entities
  readonly trail: Pick<Trail, 'record'>
}

/**
 * Checks the changes of a step, one at least, against all other records.
 * @param about makes the error of a record that can't be so, from its key
 * @returns what the step relies on
 */
export async function checkMade(
  { entities, trail }: Checking,
  request: FastifyRequest,
  known: KnownToWrite,
  all: readonly [Made, ...Made[]],
  isDryRun: boolean,
  about: (key: string, problem: Problem) => Problem,
): Promise<readonly Reliance[]> {
  const guesses: Guess[] = []
  const steps = all.map(({ step }) => step)
  const relies = await checkStep(entities, request, known, steps, guesses).catch(async error => {
    const refused = error instanceof StepRefused ? error : undefined
    const of = all.find(({ step }) => step === refused?.write) ?? all[0]
    await recordGuesses(trail, request, of.object, guesses)
    throw refused ? about(of.key, refused.problem) : error
  })
  if (isDryRun) await recordGuesses(trail, request, all[0].object, guesses)
  return relies
}

/** The event of a change that is written. */
export const eventOfMade = (
  request: FastifyRequest,
  { after, change, changes, object }: Made,
): AuditEvent => ({
  ...eventOf(request.caller, request, {
    event: after === null ? 'record.delete' : change.event,
    outcome: 'success',
    object,
  }),
  changes,
})

/** Maximum number of guesses that an event names, and of characters of each. */
const maxGuesses = 30
const maxGuess = 200

/**
 * Records guesses that no written record shows, so that an administrator sees them (R14). Events of different guesses
 * differ, so that none is counted as another's repetition.
 * @param object the record that was refused, or the first one
 */
async function recordGuesses(
  trail: Checking['trail'],
  request: FastifyRequest,
  object: string,
  guesses: readonly Guess[],
): Promise<void> {
  if (guesses.length === 0) return
  const texts = guesses.map(one => `${one.key} ${one.field}: ${JSON.stringify(one.value)}`)
  const named = texts.slice(0, maxGuesses).map(text => text.slice(0, maxGuess))
  const after = { keys: named, all: `${texts.length}, ${hash('sha256', texts.join('\n'), 'base64url')}` }
  const what = { event: 'record.change', outcome: 'failure', object } as const
  await trail.record({
    ...eventOf(request.caller, request, what),
    changes: { before: null, after: texts.length === 1 && texts[0] === named[0] ? { keys: named } : after },
  })
}
