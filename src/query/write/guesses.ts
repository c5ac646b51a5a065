import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { eventOf } from '../../http/audit.ts'
import type { Trail } from '../../storage/trail.ts'

/** A key that was looked for in an entity that the caller may not read. */
export interface Guess {
  readonly field: string
  /** The record that would have it, as its address has it. */
  readonly key: string
  readonly value: unknown
}

/** Maximum number of guesses that an event names, and of characters of each. */
const maxGuesses = 30
const maxGuess = 200

/**
 * Records guesses that no written record shows, so that an administrator sees them (R14). Events of different guesses
 * differ, so that none is counted as another's repetition.
 * @param object the record that was refused, or the first one
 */
export async function recordGuesses(
  trail: Pick<Trail, 'record'>,
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
