/** Maximum number of bytes that a server may send in one conversation. */
const maxBytes = 1_048_576
/** Maximum nesting of constructed values. No message that is read here has more than five levels. */
const maxDepth = 10

/**
 * A directory server that can't be used for this login; another may be. The message quotes nothing that was
 * sent.
 */
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
