import {
  BerReader,
  BindRequest,
  BindResponse,
  ExtendedRequest,
  ExtendedResponse,
  type Filter,
  FilterParser,
  type MessageResponse,
  SearchEntry,
  SearchRequest,
  SearchResponse,
  UnbindRequest,
} from 'ldapts'
import { ServerFault } from './inbox.ts'

/**
 * The messages of a conversation (RFC 4511), encoded and decoded by the library. Its client is not used:
 * docs/decisions/0033 says why.
 */

export interface Search {
  readonly base: string
  /** The entry at the base alone, or all entries below it, too. */
  readonly scope: 'base' | 'sub'
  /** A filter in its string form (RFC 4515). */
  readonly filter: string
  /** The wanted attributes. */
  readonly attributes: readonly string[]
  readonly max: number
}

export interface Entry {
  readonly dn: string
  /** Values by attribute name in lower case. Values that are not text are hexadecimal. */
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

export type Answer = Result | Done | Found | { readonly kind: 'reference' }

/** An answer to a bind or to StartTLS. */
export interface Result {
  readonly kind: 'bind' | 'extended'
  readonly code: number
}

interface Done {
  readonly kind: 'done'
  readonly code: number
}

interface Found {
  readonly kind: 'entry'
  readonly entry: Entry
}

/** The name of the StartTLS request (RFC 4511 §4.14). */
const startTlsOid = '1.3.6.1.4.1.1466.20037'

export const startTlsRequest = (messageId: number): Buffer =>
  new ExtendedRequest({ messageId, oid: startTlsOid }).write()
export const bindRequest = (messageId: number, dn: string, password: string): Buffer =>
  new BindRequest({ messageId, dn, password }).write()
export const unbindRequest = (messageId: number): Buffer => new UnbindRequest({ messageId }).write()

/** @param timeout in ms */
export const searchRequest = (
  messageId: number,
  { base, scope, filter, attributes, max }: Search,
  timeout: number,
): Buffer =>
  new SearchRequest({
    messageId,
    baseDN: base,
    scope,
    filter: parseFilter(filter),
    attributes: [...attributes],
    // Asking for one more shows that there are more.
    sizeLimit: max + 1,
    timeLimit: Math.ceil(timeout / 1000),
  }).write()

/** @throws Error that says what is wrong */
export const parseFilter = (text: string): Filter => FilterParser.parseString(text)

export const otherAnswer = 'it gave an answer to another question'

/** Decodes an answer by the tag of its operation (RFC 4511 §4.2). */
export function answerIn(message: Buffer, messageId: number): Answer {
  const reader = new BerReader(message)
  reader.readSequence()
  const given = reader.readInt()
  // RFC 4511 §4.4.1: a server that ends the conversation says so with the message ID 0.
  if (given !== messageId) throw new ServerFault(given === 0 ? 'it ended the conversation' : otherAnswer)
  const tag = reader.readSequence()
  if (tag === 0x73) return { kind: 'reference' }
  const read = <T extends MessageResponse>(response: T): T => {
    // The library would take a missing result code for success.
    const result = reader.remainingBuffer
    if (!(response instanceof SearchEntry) && !(result[0] === 0x0a && result[1] === 1))
      throw new ServerFault('it sent an answer without a result')
    try {
      // `parse` would read controls as well; none are asked for.
      response.parseMessage(reader)
    } catch (cause) {
      throw new ServerFault('it sent a malformed message', { cause })
    }
    return response
  }
  if (tag === 0x61) return { kind: 'bind', code: read(new BindResponse({ messageId })).status }
  if (tag === 0x64) return { kind: 'entry', entry: entryOf(read(new SearchEntry({ messageId }))) }
  if (tag === 0x65) return { kind: 'done', code: read(new SearchResponse({ messageId })).status }
  if (tag === 0x78) return { kind: 'extended', code: read(new ExtendedResponse({ messageId })).status }
  throw new ServerFault('it sent a message of an unknown kind')
}

function entryOf({ name, attributes }: SearchEntry): Entry {
  const values = new Map<string, string[]>()
  for (const { type, parsedBuffers } of attributes) {
    const known = values.get(type.toLowerCase()) ?? []
    known.push(...parsedBuffers.map(value => textOf(type, value)))
    values.set(type.toLowerCase(), known)
  }
  return { dn: name, attributes: values }
}

/**
 * Binary attributes (Active Directory): their values may look like text by chance, so they are always
 * hexadecimal.
 */
const binaryTypes = /^object(guid|sid)$|;binary$/i

function textOf(type: string, value: Buffer): string {
  const text = value.toString()
  return binaryTypes.test(type) || !Buffer.from(text).equals(value) ? value.toString('hex') : text
}
