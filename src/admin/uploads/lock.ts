import { rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../http/problems.ts'
import { isMissing } from '../../lib/system-errors.ts'
import { holdExclusively } from './exclusive-hold.ts'

/**
 * A lock on an upload: only one request at a time adds to it, in whichever event loop. A client whose
 * connection broke tries again before the service has noticed: then the older request has to stop.
 */
export interface Lock {
  /** @param release called when another request wants the lock */
  lock(release: () => void): Promise<void>
  unlock(): Promise<void>
}

/** Interval in ms between two attempts, and between two signs of life of a holder. */
const step = 100
const beat = 500
/** Time in ms after which a silent holder counts as ended, even if its program runs on. */
const silence = 30_000
/** Time in ms that the holder has to stop. */
const patience = 5_000

export function lockOf(folder: string, id: string): Lock {
  const path = join(folder, id, 'lock')
  const wanted = join(folder, id, 'wanted')
  let own: string | null = null
  let beating: NodeJS.Timeout | undefined

  async function take(): Promise<string | null> {
    try {
      return await holdExclusively(path, silence)
    } catch (error) {
      if (isMissing(error)) throw new Problem('not-found', 'There is no upload with this id.')
      throw error
    }
  }

  return {
    lock: async release => {
      const begun = performance.now()
      for (own = await take(); own === null; own = await take()) {
        if (performance.now() - begun > patience)
          throw new Problem(
            'upload-in-use',
            'Another request is sending this upload. Try again when it has ended.',
            {
              headers: { 'retry-after': '1' },
            },
          )
        await writeFile(wanted, '', { mode: 0o600 }).catch(() => {})
        await delay(step)
      }
      await rm(wanted, { force: true })
      const held = own
      beating = setInterval(() => {
        const now = new Date()
        void utimes(held, now, now).catch(() => {})
        void stat(wanted).then(release, () => {})
      }, beat).unref()
    },
    unlock: async () => {
      clearInterval(beating)
      if (own !== null) await rm(own, { force: true })
      own = null
    },
  }
}
