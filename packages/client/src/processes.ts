import type { Client } from './client.ts'
import { type FollowOptions as EventOptions, serverEvents } from './server-events.ts'

export type ProcessState = 'scheduled' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'

/** A long-running operation of the service. */
export interface Process {
  readonly processId: string
  readonly userId: string | null
  readonly scriptName: string
  readonly state: ProcessState
  readonly creationTime: string
  readonly startTime: string | null
  readonly endTime: string | null
  readonly parameters: readonly { readonly name: string; readonly value: string }[]
  readonly progress: unknown
  readonly result: unknown
  readonly fault: string | null
}

export type ProcessEvent =
  | { readonly event: 'log'; readonly n: number; readonly time: string; readonly text: string }
  | { readonly event: 'progress'; readonly state: ProcessState; readonly progress: unknown }
  | {
      readonly event: 'end'
      readonly state: ProcessState
      readonly result: unknown
      readonly fault: string | null
    }

export interface FollowOptions extends EventOptions {
  /** The number of the last log line received before. */
  readonly after?: number
}

type Anyone = Pick<Client<never>, 'request' | 'get' | 'post'>

const all = '/api/system/processes'
const addressOf = (id: string | number) => `${all}/${encodeURIComponent(id)}`

/** Starts a script such as `verify`. @param parameters such as `{ keep: 7 }` */
export async function startProcess(
  client: Anyone,
  script: string,
  parameters: Readonly<Record<string, string | number | boolean>> = {},
): Promise<Process> {
  const properties = Object.entries(parameters).map(([name, value]) => ({
    name: `--${name}`,
    value: String(value),
  }))
  const body = () => {
    const form = new FormData()
    form.append('properties', JSON.stringify(properties))
    return form
  }
  return client.post<Process>(`/api/system/scripts/${encodeURIComponent(script)}/processes`, { body })
}

export const getProcess = (client: Anyone, id: string | number): Promise<Process> =>
  client.get<Process>(addressOf(id))

/** Cancels a process, which stops at the next opportunity. Changes that were committed stay. */
export async function cancelProcess(client: Anyone, id: string | number): Promise<void> {
  await client.post(`${addressOf(id)}/cancel`)
}

/**
 * Yields the events of a process up to its `end`. A broken connection is resumed after the last line of the
 * log.
 */
export async function* followProcess(
  client: Anyone,
  id: string | number,
  { after = 0, ...options }: FollowOptions = {},
): AsyncGenerator<ProcessEvent> {
  const last = after > 0 ? String(after) : undefined
  for await (const one of serverEvents(client, `${addressOf(id)}/events`, {}, { ...options, last })) {
    const { event, id: n, data } = one
    yield { event, ...(n === undefined ? {} : { n: Number(n) }), ...JSON.parse(data) } as ProcessEvent
    if (event === 'end') return
  }
}
