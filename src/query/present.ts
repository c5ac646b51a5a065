import type { FastifyReply } from 'fastify'
import { acceptedType } from '../http/accept.ts'
import { sendJson } from '../http/json-body.ts'
import { Problem } from '../http/problems.ts'
import { sendHead, sendPieces, type TimeLimits } from '../http/send-pieces.ts'
import { type Awaitable, andThen } from '../lib/awaitable.ts'
import type { Client } from '../lib/fair-queue.ts'
import { memo } from '../lib/memo.ts'
import type { Field, Page } from '../model/entities.ts'
import type { Plan } from '../model/plan.ts'
import type { RecordFormat } from '../model/record-format.ts'
import { csvHeader } from '../model/record-format.ts'
import type { Listing } from '../storage/entities.ts'
import type { LongTexts } from './long-texts.ts'
import type { Asked } from './parse.ts'

/**
 * Turns a listing into a response: media type, headers, and a body that is sent at the client's pace (Q5,
 * Q8–Q10).
 */

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
  return mediaTypes[chooseType(accept, legal)]
}

/** @throws Problem 406 as `chooseFormat` */
export function chooseType<Type extends string>(accept: string, legal: readonly Type[]): Type {
  const chosen = acceptedType(accept, legal)
  if (chosen !== undefined) return chosen
  throw new Problem(
    'not-acceptable',
    `None of the media types in Accept can be sent. The possible ones are ${legal.join(', ')}.`,
    { members: { legal } },
  )
}

interface Presented {
  readonly asked: Pick<Asked, 'query' | 'order' | 'pretty'>
  readonly plan: Plan
  /** `values` shows each row as its only value. */
  readonly as: 'rows' | 'values'
  readonly format: RecordFormat
  readonly listing: Listing
  /** Address of the page, without its parameters. */
  readonly address: string
  readonly timeLimits: TimeLimits
  readonly texts: Pick<LongTexts, 'indented' | 'values'>
  readonly client: Client
  /** The entity tag, sent as a weak one; undefined if the answer has none. */
  readonly tag: string | undefined
  /** The states that the plan reads; undefined if they can't be shown again. */
  readonly snapshot: string | undefined
}

/** @returns a promise only if something is left to wait for */
export function present(reply: FastifyReply, presented: Presented): Awaitable<FastifyReply> {
  const { body } = presented.listing
  return body instanceof Uint8Array ? sendWhole(reply, presented, body) : sendParts(reply, presented, body)
}

/** Maximum size in bytes of a body that Node sends faster as text, in one piece with the headers. */
const maxText = 4_096

/** Headers are set when nothing can fail any more: a problem must not carry the ETag or the total of a page. */
function sendWhole(reply: FastifyReply, presented: Presented, records: Uint8Array): Awaitable<FastifyReply> {
  const { before, after, empty, piece } = frame(presented)
  const send = (text: Buffer) => {
    setHeaders(reply, presented)
    const isText = presented.format === 'json' && text.length <= maxText
    return isText ? sendJson(reply, text.toString()) : reply.send(text)
  }
  if (records.length === 0) return send(Buffer.from(empty))
  const whole = (body: Uint8Array) => send(framed(before, body, after))
  return andThen(piece(records), whole)
}

async function sendParts(
  reply: FastifyReply,
  presented: Presented,
  body: AsyncIterable<Uint8Array>,
): Promise<FastifyReply> {
  const { timeLimits } = presented
  const framing = frame(presented)
  // Two pieces are read first, so that an early failure has its own status, and a short body has a length.
  const pieces = body[Symbol.asyncIterator]()
  const first = await pieces.next()
  const second = first.done ? first : await pieces.next()
  if (second.done) return sendWhole(reply, presented, first.done ? new Uint8Array() : first.value)
  setHeaders(reply, presented)
  if (reply.request.method === 'HEAD') {
    await pieces.return?.()
    return sendHead(reply)
  }
  const { before, between, after, piece } = framing
  const all = continued([first.value, second.value], pieces, piece)
  return sendPieces(reply, { before, between, after, pieces: all }, timeLimits)
}

function setHeaders(reply: FastifyReply, presented: Presented): void {
  const { asked, plan, format, listing, address, tag, snapshot } = presented
  const { page } = plan
  if (snapshot !== undefined) reply.header('x-snapshot', snapshot)
  if (tag !== undefined) reply.header('etag', `W/${tag}`)
  if (page.total) reply.header('x-records', String(listing.total))
  const link = linkHeader(page, listing, address, askedParameters(asked, plan, snapshot))
  if (link !== undefined) reply.header('link', link)
  reply.type(contentTypes[format])
}

/**
 * Repeats the pieces that have been read, then continues. Unlike a generator, it passes on a `return` before
 * any `next`.
 */
function continued(
  start: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
  toSend: Framing['piece'],
): AsyncIterator<Uint8Array, undefined> {
  const read = [...start]
  return {
    next: async () => {
      const value = read.shift()
      if (value) return { value: await toSend(value), done: false }
      const next = (await rest.next()) as IteratorResult<Uint8Array, undefined>
      return next.done ? next : { value: await toSend(next.value), done: false }
    },
    return: async () => {
      await rest.return?.()
      return { value: undefined, done: true }
    },
  }
}

interface Framing {
  /** Texts before the first record, between two pieces, and after the last record. */
  readonly before: string
  readonly between: string
  readonly after: string
  /** The body if there are no records. */
  readonly empty: string
  readonly piece: (records: Uint8Array) => Awaitable<Uint8Array>
}

const asIs = (records: Uint8Array) => records

function frame({ format, plan, asked, as, texts, client }: Presented): Framing {
  const { entity, shape } = plan
  if (format === 'json') {
    const { pretty } = asked
    const written = (records: Uint8Array) =>
      as === 'values' ? texts.values(records, pretty, client) : texts.indented(records, client)
    const piece = pretty || as === 'values' ? written : asIs
    return pretty
      ? { before: '[\n', between: ',\n', after: '\n]\n', empty: '[]\n', piece }
      : { before: '[', between: ',', after: ']', empty: '[]', piece }
  }
  if (format === 'ndjson') return { before: '', between: '\n', after: '\n', empty: '', piece: asIs }
  const fields: readonly Pick<Field, 'name'>[] = shape.kind === 'rows' ? shape.columns : entity.fields
  const header = `${csvHeader(fields)}\r\n`
  return { before: header, between: '\r\n', after: '\r\n', empty: header, piece: asIs }
}

/** Puts texts around records. */
function framed(before: string, records: Uint8Array, after: string): Buffer {
  const start = Buffer.byteLength(before)
  const end = start + records.length
  const whole = Buffer.allocUnsafe(end + Buffer.byteLength(after))
  whole.write(before)
  whole.set(records, start)
  whole.write(after, end)
  return whole
}

/**
 * Maximum length in characters. There are up to four links, and many clients and proxies take no more than 16
 * kB of headers.
 */
const maxAskedLength = 3_000

/** Encodes the parameters that links repeat besides the page itself; undefined if they are too long. */
export function askedParameters(
  { query, order, pretty }: Presented['asked'],
  { page, shape }: { readonly page: Pick<Page, 'order'>; readonly shape: Plan['shape'] },
  snapshot?: string,
): string | undefined {
  const given = `${query ?? ''}${order ?? ''}`
  // Half of a surrogate pair can't be encoded. Encoding never makes a text shorter.
  if (given.length > maxAskedLength || !given.isWellFormed()) return undefined
  const sorted =
    shape.kind === 'records'
      ? orderParameter(page.order)
      : order === undefined
        ? ''
        : `order_by=${encodeURIComponent(order)}&`
  const still = snapshot === undefined ? '' : `snapshot=${snapshot}&`
  if (query === undefined && !pretty) return sorted + still
  const text = `${query === undefined ? '' : `query=${encodeURIComponent(query)}&`}${sorted}${pretty ? 'pretty=true&' : ''}`
  return text.length > maxAskedLength ? undefined : text + still
}

/**
 * Links to the first, previous, next and last page of this size (RFC 8288, Q9).
 * @param asked the parameters that they repeat, encoded
 */
export function linkHeader(
  page: Page,
  { total, more }: Pick<Listing, 'total' | 'more'>,
  address: string,
  asked: string | undefined,
): string | undefined {
  const { limit, offset } = page
  if (limit === null || asked === undefined) return undefined
  const withTotal = page.total ? '&include_total=true' : ''
  const to = (rel: string, at: number) =>
    `<${address}?${asked}limit=${limit}&offset=${at}${withTotal}>; rel="${rel}"`
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

/** Encodes an order once, because equal orders are the same object in every request (`orderOf`). */
const orderParameter = memo((order: Page['order']): string => {
  if (order.length === 0) return ''
  const json = JSON.stringify(
    order.map(({ field, descending }) => (descending ? { field, order: 'desc' } : { field })),
  )
  return `order_by=${encodeURIComponent(json)}&`
})
