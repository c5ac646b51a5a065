import { Problem } from '../http/problems.ts'
import { type ItemOutcome, maxBitstreams, maxBundles } from '../model/item-changes.ts'

/** What a change that was not made is to the client. @param what is changed, such as `bundle` */
export function refuseOutcome(outcome: ItemOutcome, what: string): void {
  switch (outcome) {
    case 'changed':
    case 'unchanged':
      return
    case 'gone':
      throw new Problem('not-found', `There is no such ${what} any more.`)
    case 'stale':
      throw new Problem('precondition-failed', `The ${what} was changed meanwhile. Read it again.`)
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
  }
}
