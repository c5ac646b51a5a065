import type { FastifyReply } from 'fastify'
import Negotiator from 'negotiator'
import { Problem } from '../http/problems.ts'
import { sendHead, sendPieces, type TimeLimits } from '../http/send-pieces.ts'
import type { Entity, Page } from '../model/entities.ts'
import type { RecordFormat } from '../model/record-format.ts'
import { csvHeader } from '../model/record-format.ts'
import type { Listing } from '../storage/entities.ts'

/** Turns a listing into a response: media type, headers, and a body that is sent at the client's pace (Q5, Q8–Q10). */
const mediaTypes = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
} as const satisfies Record<string, RecordFormat>

const contentTypes: Readonly<Record<RecordFormat, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
}

/** @throws Problem 406 if the client accepts none of the media types (RFC 9110 §12.5.1) */
export function chooseFormat(accept: string | undefined): RecordFormat {
  if (accept === undefined || accept === '' || accept === '*/*' || accept === 'application/json')
    return 'json'
  const legal = Object.keys(mediaTypes) as (keyof typeof mediaTypes)[]
  // All of them are in UTF-8, so a `charset` in Accept makes no difference.
  const types = accept.replace(/;\s*charset=("[^"]*"|[^,;]*)/gi, '')
  const chosen = new Negotiator({ headers: { accept: types } }).mediaType([...legal]) as
    | keyof typeof mediaTypes
    | undefined
  if (chosen === undefined)
    throw new Problem(
      'not-acceptable',
      `None of the media types in Accept can be sent. The possible ones are ${legal.join(', ')}.`,
      {
        members: { legal },
      },
    )
  return mediaTypes[chosen]
}

interface Presented {
  readonly entity: Entity
  readonly page: Page
  readonly format: RecordFormat
  readonly listing: Listing
  /** The entity's, without a query. */
  readonly address: string
  readonly timeLimits: TimeLimits
}

export async function present(
  reply: FastifyReply,
  { entity, page, format, listing, address, timeLimits }: Presented,
): Promise<FastifyReply> {
  if (page.total) reply.header('x-records', String(listing.total))
  const link = linkHeader(page, listing, address)
  if (link !== undefined) reply.header('link', link)
  reply.header('vary', 'Origin, Accept').type(contentTypes[format])

  const { body } = listing
  if (body instanceof Uint8Array) return reply.send(whole(format, entity, body))
  // After two pieces are read, an early failure can still have its own status, and a short body has a length.
  const pieces = body[Symbol.asyncIterator]()
  const first = await pieces.next()
  const second = first.done ? first : await pieces.next()
  if (second.done) return reply.send(whole(format, entity, first.done ? new Uint8Array() : first.value))
  if (reply.request.method === 'HEAD') {
    await pieces.return?.()
    return sendHead(reply)
  }
  const [before, between, after] = frame(format, entity)
  const all = continued([first.value, second.value], pieces)
  return sendPieces(reply, { before, between, after, pieces: all }, timeLimits)
}

/** The pieces that have been read already, then the rest. Unlike a generator's, its `return` also ends what has not begun. */
function continued(
  start: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncIterator<Uint8Array, undefined> {
  const read = [...start]
  return {
    next: async () => {
      const value = read.shift()
      return value ? { value, done: false } : ((await rest.next()) as IteratorResult<Uint8Array, undefined>)
    },
    return: async () => {
      await rest.return?.()
      return { value: undefined, done: true }
    },
  }
}

/** The text before the first record, between two records, and after the last. */
function frame(
  format: RecordFormat,
  entity: Entity,
): readonly [before: string, between: string, after: string] {
  if (format === 'json') return ['[', ',', ']']
  if (format === 'ndjson') return ['', '\n', '\n']
  return [`${csvHeader(entity.fields)}\r\n`, '\r\n', '\r\n']
}

function whole(format: RecordFormat, entity: Entity, records: Uint8Array): Buffer {
  const [before, , after] = frame(format, entity)
  const ending = records.length === 0 && format !== 'json' ? '' : after
  return Buffer.concat([Buffer.from(before), records, Buffer.from(ending)])
}

/** RFC 8288: links to the first, previous, next and last page of this size (Q9). */
export function linkHeader(
  page: Page,
  { total, more }: Pick<Listing, 'total' | 'more'>,
  address: string,
): string | undefined {
  const { limit, offset } = page
  if (limit === null) return undefined
  const order = orderParameter(page.order)
  const withTotal = page.total ? '&include_total=true' : ''
  const to = (rel: string, at: number) =>
    `<${address}?${order}limit=${limit}&offset=${at}${withTotal}>; rel="${rel}"`
  const links = [to('first', 0)]
  if (offset > 0) links.push(to('prev', Math.max(0, offset - limit)))
  if (more) links.push(to('next', offset + limit))
  if (total !== undefined && page.total) {
    // The last page, in steps of this size from the current offset.
    const start = offset % limit
    links.push(to('last', total > start ? start + Math.floor((total - 1 - start) / limit) * limit : 0))
  }
  return links.join(', ')
}

/** The same order is the same object in every request (`parsePage`), so its text is made once. */
const printed = new WeakMap<Page['order'], string>()

function orderParameter(order: Page['order']): string {
  if (order.length === 0) return ''
  const known = printed.get(order)
  if (known !== undefined) return known
  const json = JSON.stringify(
    order.map(({ field, descending }) => (descending ? { field, order: 'desc' } : { field })),
  )
  const text = `order_by=${encodeURIComponent(json)}&`
  printed.set(order, text)
  return text
}
