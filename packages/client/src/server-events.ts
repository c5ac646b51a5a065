import { linesOf } from './lines.ts'
import { CarrelNetworkError, CarrelProblem } from './problem.ts'
import type { Requests } from './routes.ts'
import { pause, type Send } from './transport.ts'

export interface ServerEvent {
  readonly event?: string
  readonly id?: string
  readonly data: string
}

export interface FollowOptions {
  readonly signal?: AbortSignal
  /**
   * Maximum number of successive attempts to resume a broken connection that yield no event; 10 by default.
   */
  readonly attempts?: number
}

/** Time in ms after which a silent connection counts as broken. The service sends a comment every 15 s. */
const longestSilence = 60_000

/**
 * Yields the server-sent events of an address. A connection that has broken is resumed after the last id, and an event
 * of which only a part has come counts as not received.
 * @param last the id to go on after
 */
export async function* serverEvents(
  client: Pick<Requests, 'request'>,
  path: string,
  query: NonNullable<Send['query']>,
  { signal, attempts = 10, last }: FollowOptions & { readonly last?: string | undefined },
): AsyncGenerator<ServerEvent> {
  let id = last
  for (let failures = 0; ; ) {
    const silent = new AbortController()
    const either = AbortSignal.any([silent.signal, ...(signal ? [signal] : [])])
    let timer: ReturnType<typeof setTimeout> | undefined
    const wait = () => {
      clearTimeout(timer)
      timer = setTimeout(
        () => silent.abort(new CarrelNetworkError('The connection has been silent for too long.')),
        longestSilence,
      )
    }
    try {
      const headers = { accept: 'text/event-stream', 'last-event-id': id }
      const given = { query: id === undefined ? query : {}, headers, signal: either }
      const response = await client.request('GET', path, given)
      wait()
      for await (const event of eventsOf(linesOf(response, either), wait)) {
        failures = 0
        id = event.id ?? id
        yield event
      }
    } catch (error) {
      const isAway = error instanceof CarrelProblem && [502, 503, 504].includes(error.status)
      if (signal?.aborted || !(error instanceof CarrelNetworkError || isAway) || failures >= attempts)
        throw error
    } finally {
      clearTimeout(timer)
    }
    // The service closes old connections, and all of them when it stops. This counts as a failure only if no
    // event ever comes.
    if (++failures > attempts) throw new CarrelNetworkError(`${path} can't be followed.`)
    await pause(Math.min(500 * 2 ** failures, 15_000), signal)
  }
}

/**
 * Parses server-sent events as far as the service uses them
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html §9.2.6).
 * @param onLine called for each line, comments included
 */
async function* eventsOf(lines: AsyncIterable<string>, onLine: () => void): AsyncGenerator<ServerEvent> {
  let fields: { event?: string; id?: string; data?: string } = {}
  for await (const line of lines) {
    onLine()
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (name !== undefined && value !== undefined) fields = { ...fields, [name]: value }
    if (line !== '') continue
    const { data, ...more } = fields
    fields = {}
    if (data !== undefined) yield { ...more, data }
  }
}
