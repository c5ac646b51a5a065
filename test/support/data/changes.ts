import assert from 'node:assert/strict'
import type { Client } from '../clients/client.ts'

/** A change of a record, as the feed tells it. */
export interface ChangeLine {
  readonly change: 'added' | 'changed' | 'deleted'
  readonly key: unknown
  readonly record?: Readonly<Record<string, unknown>>
}

export const feedPath = (entity: string, since?: string): string =>
  `/api/query/v4/${entity}/changes${since === undefined ? '' : `?since=${encodeURIComponent(since)}`}`

/** Returns the snapshot that a list shows. */
export async function snapshotOf(client: Client, entity: string): Promise<string> {
  const response = await client.get(`/api/query/v4/${entity}?limit=1`)
  assert.equal(response.status, 200, await response.text())
  const snapshot = response.headers.get('x-snapshot')
  assert.ok(snapshot)
  return snapshot
}

/** Returns what has changed since a snapshot, and the one to go on with. */
export async function changesSince(client: Client, entity: string, since: string) {
  const response = await client.get(feedPath(entity, since))
  const text = await response.text()
  assert.equal(response.status, 200, text)
  assert.equal(response.headers.get('content-type'), 'application/x-ndjson')
  const lines = text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))
  const { snapshot } = lines.at(-1) as { readonly snapshot?: string }
  assert.ok(snapshot, text)
  return { changes: lines.filter(line => !('snapshot' in line)) as readonly ChangeLine[], snapshot }
}

export interface StreamEvent {
  readonly event?: string
  readonly id?: string
  readonly data: string
}

/** An open stream of changes. */
export interface Stream {
  readonly response: Response
  /** @returns undefined at the end of the stream */
  next(): Promise<StreamEvent | undefined>
  /** Reads as many changes. */
  changes(count: number): Promise<readonly ChangeLine[]>
  /** The last id. */
  readonly id: string | undefined
  close(): void
}

/** Opens a stream of changes. */
export async function streamOf(
  client: Client,
  entity: string,
  { since, lastEventId }: { readonly since?: string; readonly lastEventId?: string | undefined } = {},
): Promise<Stream> {
  const controller = new AbortController()
  const response = await client.request(feedPath(entity, since), {
    headers: {
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
    signal: controller.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let id: string | undefined
  async function next(): Promise<StreamEvent | undefined> {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const fields = text
          .slice(0, end)
          .split('\n')
          .map(line => line.split(/: ?(.*)/))
        text = text.slice(end + 2)
        const event = Object.fromEntries(
          fields.map(([name, value]) => [name, value]),
        ) as unknown as StreamEvent
        id = event.id ?? id
        if (event.data !== undefined) return event
        continue
      }
      const piece = await reader?.read().catch(() => undefined)
      if (!piece || piece.done) return undefined
      text += piece.value
    }
  }
  return {
    response,
    next,
    changes: async count => {
      const all: ChangeLine[] = []
      while (all.length < count) {
        const event = await next()
        assert.ok(event, `the stream ended after ${all.length} changes`)
        if (event.event === undefined) all.push(JSON.parse(event.data) as ChangeLine)
      }
      return all
    },
    get id() {
      return id
    },
    close: () => controller.abort(),
  }
}
