import type { Schemas } from '@carrel/client'
import { signal } from '@preact/signals'
import { client } from '../api.ts'

/** A message for everybody, such as that the service will be away for a while. */
export type Alert = Schemas['Alert']

export const alert = signal<Alert | undefined>(undefined)

/** Asks whether there is one. A service that doesn't say has none. */
export async function lookForAlert(): Promise<void> {
  try {
    const list = client.list<Alert>('/api/system/systemwidealerts/search/active')
    alert.value = (await list.page(0, 1)).items[0]
  } catch {
    // The page that is open says what is wrong.
  }
}
