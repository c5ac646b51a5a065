import type { Schemas } from '@carrel/client'
import { signal } from '@preact/signals'
import { client } from './api.ts'

/** A message to everyone, such as an announcement of downtime. */
type Alert = Schemas['Alert']

export const alert = signal<Alert | undefined>(undefined)

/** Loads the current alert, if there is one. */
export async function lookForAlert(): Promise<void> {
  try {
    const list = client.list<Alert>('/api/system/systemwidealerts/search/active')
    alert.value = (await list.page(0, 1)).items[0]
  } catch {
    // The open page reports the failure.
  }
}
