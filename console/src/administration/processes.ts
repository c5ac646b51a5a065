import type { Schemas } from '@carrel/client'
import type { Process } from '@carrel/client/processes'
import { service } from '../api.ts'

/** Path of the processes. */
export const processes = '/api/system/processes'
const addressOf = (id: string): string => `${processes}/${encodeURIComponent(id)}`
export const processPath = (id: string): string => `admin/processes/${encodeURIComponent(id)}`

type Script = Schemas['Script']

export async function loadScripts(signal: AbortSignal): Promise<readonly Script[]> {
  const { items } = await service.value.list<Script>('/api/system/scripts').page(0, 100, signal)
  return items
}

export const resume = (id: string): Promise<Process> => service.value.post<Process>(`${addressOf(id)}/resume`)
export const removeProcess = (id: string): Promise<unknown> => service.value.delete(addressOf(id))

export const isUnderWay = (state: Process['state']): boolean => state === 'running' || state === 'scheduled'

export const tones = {
  scheduled: '',
  running: 'warn',
  completed: 'good',
  failed: 'bad',
  cancelled: '',
  interrupted: 'bad',
} as const satisfies Record<Process['state'], string>
