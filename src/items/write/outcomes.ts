import { stale } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { type ItemOutcome, maxBitstreams, maxBundles } from '../../model/item-changes.ts'

/** Maximum number of attempts at a change that others come before, and maximum pause between two of them in ms. */
const maxAttempts = 50
const maxPause = 40

/**
 * Tries a change that depends on the current state, and begins again if another change came first, so that
 * none is lost.
 * @param attempt reads the current state, and changes it
 * @throws Problem 503 if others come first again and again
 */
export async function retryStale(attempt: () => Promise<ItemOutcome>): Promise<ItemOutcome> {
  for (let tried = 0; tried < maxAttempts; tried++) {
    const outcome = await attempt()
    if (outcome !== 'stale') return outcome
    await new Promise(resolve => setTimeout(resolve, Math.random() * maxPause))
  }
  throw new Problem('busy', 'Too many requests change this at the same time. Retry in a moment.', {
    headers: { 'retry-after': '5' },
  })
}

/** Throws the problem of a change that was not made. @param what the thing to change, such as `bundle` */
export function refuseOutcome(outcome: ItemOutcome, what: string): void {
  switch (outcome) {
    case 'changed':
    case 'unchanged':
      return
    case 'gone':
      throw new Problem('not-found', `There is no such ${what} any more.`)
    case 'stale':
      throw stale(what)
    case 'taken':
      throw new Problem('change-refused', `There is another ${what} of this name already.`)
    case 'full':
      throw new Problem(
        'files-full',
        'All files together would be larger than the operator allows (CARREL_FILES_QUOTA).',
      )
    case 'many':
      throw new Problem(
        'change-refused',
        `An item may have at most ${maxBundles} bundles and ${maxBitstreams} files.`,
      )
    case 'no-eperson':
      throw new Problem('change-refused', 'There is no eperson with this UUID any more.')
  }
}

/** Maximum size in bytes of the body of a change, which may have all metadata of an item. */
export const bodyLimit = 1024 * 1024
export const patchBounds = { operations: 1_000, bytes: bodyLimit }
