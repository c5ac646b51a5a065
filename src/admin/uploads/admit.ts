import type { UploadLimits } from '../../config/parts.ts'
import { Problem } from '../../http/problems.ts'
import { hasEnded } from '../../lib/process-ids.ts'
import { waitForHold } from './lock.ts'
import type { Found, Info, UploadPlace } from './place.ts'

interface Parts {
  readonly place: UploadPlace
  readonly limits: UploadLimits
}

/**
 * Adds an upload if it fits beside the present ones. Uploads are decided one after the other, over all event
 * loops and programs that share the folder, so that concurrent ones can't exceed a limit together. From then
 * on the upload's whole size counts, until it is removed: it is its own reservation.
 * @throws Problem 507
 */
export async function admitUpload({ place, limits }: Parts, id: string, info: Info): Promise<void> {
  await alone(place, async () => {
    const all: Found[] = []
    for (const one of await place.list())
      if (isForsaken(one)) await place.remove(one.id)
      else all.push(one)
    await requireRoom(all, info, { place, limits })
    await place.add(id, info)
  })
}

async function requireRoom(
  all: readonly Found[],
  { eperson, size }: Info,
  { place, limits }: Parts,
): Promise<void> {
  const own = all.filter(one => one.eperson === eperson)
  if (own.length >= limits.count)
    throw new Problem('no-room', `An eperson may have ${limits.count} uploads (CARREL_UPLOAD_COUNT).`)
  const together = own.reduce((sum, one) => sum + one.size, size)
  if (together > limits.quota)
    throw new Problem(
      'no-room',
      `With this one, your uploads would be ${megabytes(together)} together; ${megabytes(limits.quota)} is the limit (CARREL_UPLOAD_QUOTA).`,
    )
  // The missing bytes of all announced uploads need room as well.
  const awaited = all.reduce((sum, one) => sum + one.size - one.offset, size)
  if ((await place.free()) - awaited < limits.free)
    throw new Problem('no-room', `The disk has no room for ${megabytes(size)} more (CARREL_UPLOAD_FREE).`)
}

/** True if the program that was receiving the body has ended, so that the rest will never come. */
const isForsaken = ({ receivedBy, offset, size }: Found): boolean =>
  receivedBy !== undefined && offset < size && hasEnded(receivedBy)

let last: Promise<unknown> = Promise.resolve()

/** Runs work one at a time: in this event loop by a queue, and among event loops and programs by a file. */
function alone(place: UploadPlace, work: () => Promise<void>): Promise<void> {
  const turn = last.then(async () => {
    const hold = await waitForHold(place, 'admission', {
      silence: 10_000,
      patience: 30_000,
      step: 20,
      busy: () =>
        new Problem('busy', 'Too many uploads begin at the same time. Retry in a moment.', {
          headers: { 'retry-after': '5' },
        }),
    })
    await work().finally(hold.release)
  })
  last = turn.catch(() => {})
  return turn
}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en')} MB`
