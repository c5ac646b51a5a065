import type { Client } from './client.ts'
import { linesOf } from './lines.ts'
import { CarrelNetworkError, CarrelProblem } from './problem.ts'
import { pause } from './transport.ts'

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

export interface FollowOptions {
  readonly signal?: AbortSignal
  /** The number of the last log line received before. */
  readonly after?: number
  /**
   * Maximum number of successive attempts to resume a broken connection that yield no event; 10 by default.
   */
  readonly attempts?: number
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
  { signal, after = 0, attempts = 10 }: FollowOptions = {},
): AsyncGenerator<ProcessEvent> {
  let last = after
  for (let failures = 0; ; ) {
    try {
      const headers = { accept: 'text/event-stream', 'last-event-id': last > 0 ? String(last) : undefined }
      const response = await client.request('GET', `${addressOf(id)}/events`, { headers, signal })
      for await (const event of eventsOf(linesOf(response, signal))) {
        failures = 0
        if (event.event === 'log') last = event.n
        yield event
        if (event.event === 'end') return
      }
    } catch (error) {
      const isAway = error instanceof CarrelProblem && [502, 503, 504].includes(error.status)
      if (!(error instanceof CarrelNetworkError || isAway)) throw error
      if (failures >= attempts) throw error
    }
    // The service closes old connections, and all of them when it stops. This counts as a failure only if no
    // event ever comes.
    if (++failures > attempts) throw new CarrelNetworkError(`The process ${id} can't be followed.`)
    await pause(Math.min(500 * 2 ** failures, 15_000), signal)
  }
}

/**
 * Parses server-sent events as far as the service uses them
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html §9.2.6).
 */
async function* eventsOf(lines: AsyncIterable<string>): AsyncGenerator<ProcessEvent> {
  let fields: Record<string, string> = {}
  for await (const line of lines) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (name !== undefined && value !== undefined) fields[name] = value
    if (line !== '') continue
    const { event, id, data } = fields
    fields = {}
    if (data !== undefined)
      yield { event, ...(id === undefined ? {} : { n: Number(id) }), ...JSON.parse(data) } as ProcessEvent
  }
}
