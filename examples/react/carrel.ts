import { createClient, type Session } from '@carrel/client'
import { useSyncExternalStore } from 'react'
import type { Entities } from '../entities.ts'

/** One client for the whole page. */
export const carrel = createClient<Entities>(
  new URLSearchParams(location.search).get('service') ?? 'http://localhost:8080',
  { storage: 'session' },
)

let session: Session | undefined = carrel.session

const subscribe = (changed: () => void) =>
  carrel.onSession(now => {
    session = now
    changed()
  })

/** Returns the current session, and follows changes made in other tabs. */
export const useSession = (): Session | undefined => useSyncExternalStore(subscribe, () => session)
