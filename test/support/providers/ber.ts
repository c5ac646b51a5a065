/** BER (X.690 §8) as LDAP uses it, written and read without the library under test. */

export interface Value {
  readonly tag: number
  /** The values inside a constructed value. */
  readonly values: readonly Value[]
  /** The content of any value. */
  readonly bytes: Buffer
}

/** Encodes a value with a definite length, in as few bytes as possible. */
export function value(tag: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map(part => Buffer.from(part)))
  const { length } = content
  const size = length < 0x80 ? [length] : [0x84, length >>> 24, length >>> 16, length >>> 8, length]
  return Buffer.concat([Buffer.of(tag, ...size.map(byte => byte & 0xff)), content])
}

export const sequence = (...parts: readonly Buffer[]): Buffer => value(0x30, ...parts)
export const integer = (number: number, tag = 0x02): Buffer =>
  number < 0x80 ? value(tag, Buffer.of(number)) : value(tag, Buffer.of(0, number >> 16, number >> 8, number))
export const octets = (content: Buffer | string): Buffer => value(0x04, content)

/** @returns the first value of the bytes with its end, or undefined if it isn't complete */
export function read(bytes: Buffer, at = 0): { readonly one: Value; readonly end: number } | undefined {
  const [tag, first] = [bytes[at], bytes[at + 1]]
  if (tag === undefined || first === undefined) return undefined
  const count = first < 0x80 ? 0 : first & 0x7f
  if (bytes.length < at + 2 + count) return undefined
  const length = count === 0 ? first : bytes.readUIntBE(at + 2, count)
  const from = at + 2 + count
  const end = from + length
  if (bytes.length < end) return undefined
  const content = bytes.subarray(from, end)
  return { one: { tag, bytes: content, values: (tag & 0x20) === 0 ? [] : readAll(content) }, end }
}

function readAll(bytes: Buffer): Value[] {
  const values: Value[] = []
  for (let at = 0; at < bytes.length; ) {
    const next = read(bytes, at)
    if (!next) throw new Error('a value is cut off')
    values.push(next.one)
    at = next.end
  }
  return values
}
