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

/** Binary attributes (Active Directory): their values may look like text by chance, so they are always hexadecimal. */
const binaryTypes = /^object(guid|sid)$|;binary$/i

function textOf(type: string, value: Buffer): string {
  const text = value.toString()
  return binaryTypes.test(type) || !Buffer.from(text).equals(value) ? value.toString('hex') : text
}

/** Maximum number of bytes that a server may send in one conversation. */
const maxBytes = 1_048_576
/** Maximum nesting of constructed values. No message that is read here has more than five levels. */
const maxDepth = 10

/** A directory server that can't be used for this login; another may be. The message quotes nothing that was sent. */
export class ServerFault extends Error {}

/**
 * Receives a server's bytes and passes on whole LDAP messages that are well-formed BER (X.690 §8.1): the
 * library that decodes them would loop endlessly on a wrong length, and keeps everything it gets.
 */
export class Inbox {
  #rest: Buffer = Buffer.alloc(0)
  #bytes = 0
  #fault: Error | undefined
  readonly #messages: Buffer[] = []
  #wake: () => void = () => {}

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    try {
      if (this.#bytes > maxBytes) throw new ServerFault(`it sent more than ${maxBytes} bytes`)
      this.#rest = Buffer.concat([this.#rest, chunk])
      for (;;) {
        const end = endOf(this.#rest, 0)
        if (this.#rest.length > 0 && this.#rest[0] !== sequence)
          throw new ServerFault('it does not speak LDAP')
        if (end === undefined || end > this.#rest.length) break
        const message = this.#rest.subarray(0, end)
        if (!isWellFormed(message, 0, end, 0)) throw new ServerFault('it sent a malformed message')
        this.#messages.push(message)
        this.#rest = this.#rest.subarray(end)
      }
    } catch (error) {
      this.fail(error)
    }
    this.#wake()
  }

  /** Fails the reader once the received messages are read; a later error is ignored. */
  fail(error: unknown): void {
    this.#fault ??= error instanceof Error ? error : new Error(String(error))
    this.#wake()
  }

  /** @returns the next message. Only one caller may wait at a time. */
  async next(): Promise<Buffer> {
    for (;;) {
      const message = this.#messages.shift()
      if (message) return message
      if (this.#fault) throw this.#fault
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  /** True if all received bytes were read. */
  get isEmpty(): boolean {
    return this.#rest.length === 0 && this.#messages.length === 0
  }
}

const sequence = 0x30

/** @returns the end of the value that begins there; undefined until its length has arrived */
function endOf(bytes: Buffer, at: number): number | undefined {
  const head = headOf(bytes, at)
  return head && head.from + head.length
}

/** Reads a value's head (RFC 4511 §5.1): lengths are definite, and the tags of LDAP have one byte. */
function headOf(bytes: Buffer, at: number): { readonly from: number; readonly length: number } | undefined {
  const first = bytes[at + 1]
  if (first === undefined) return undefined
  if (first < 0x80) return { from: at + 2, length: first }
  const count = first & 0x7f
  if (count === 0 || count > 4) throw new ServerFault('it sent a malformed message')
  if (bytes.length < at + 2 + count) return undefined
  const length = bytes.readUIntBE(at + 2, count)
  if (length > maxBytes) throw new ServerFault(`it announced a message of ${length} bytes`)
  return { from: at + 2 + count, length }
}

/** True if values fill the range exactly, and nested values fill theirs. */
function isWellFormed(bytes: Buffer, from: number, to: number, depth: number): boolean {
  if (depth > maxDepth) return false
  let at = from
  while (at < to) {
    const head = headOf(bytes, at)
    const end = head && head.from + head.length
    const tag = bytes[at] ?? 0
    if (!head || end === undefined || end > to || (tag & 0x1f) === 0x1f) return false
    const isConstructed = (tag & 0x20) !== 0
    if (isConstructed && !isWellFormed(bytes, head.from, end, depth + 1)) return false
    at = end
  }
  return true
}
