import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { readRanges } from '../../src/files/ranges.ts'
import { contentOf, everybody, putItem } from '../support/data/repository.ts'
import { runs } from '../support/scale.ts'
import { type Service, startService } from '../support/service/service.ts'

/** The expected answer to a Range header on a small file, by RFC 9110 §14. */

type Expected =
  /** The field is ignored, and the whole file is sent. */
  | { readonly kind: 'whole' }
  | { readonly kind: 'unsatisfiable' }
  | { readonly kind: 'parts'; readonly parts: readonly (readonly [first: bigint, last: bigint])[] }

/** This service's maximum. A server may ignore excessive ranges (§14.2). */
const maxParts = 50

/**
 * A simple oracle: the grammar of §14.1.1 and §14.1.2 character by character, with positions as integers of
 * any size. Nothing here comes from src/.
 */
function expected(header: string, length: number): Expected {
  const size = BigInt(length)
  const field = strip(header)
  const equals = field.indexOf('=')
  // §14.1: range units are case-insensitive; §14.2: an unknown one is ignored.
  if (equals < 0 || field.slice(0, equals).toLowerCase() !== 'bytes') return { kind: 'whole' }
  const elements = field
    .slice(equals + 1)
    .split(',')
    .map(strip)
    .filter(one => one !== '')
  if (elements.length === 0) return { kind: 'whole' }
  const parts: [bigint, bigint][] = []
  for (const element of elements) {
    const dash = element.indexOf('-')
    if (dash < 0) return { kind: 'whole' }
    const [first, last] = [element.slice(0, dash), element.slice(dash + 1)]
    if (!isDigits(first) || !isDigits(last) || first + last === '') return { kind: 'whole' }
    if (first === '') {
      // suffix-range: the last bytes of this number, or all if there are fewer.
      const suffix = BigInt(last)
      if (suffix > 0n && size > 0n) parts.push([suffix > size ? 0n : size - suffix, size - 1n])
      continue
    }
    // An int-range whose last-pos is less than its first-pos is invalid.
    if (last !== '' && BigInt(last) < BigInt(first)) return { kind: 'whole' }
    if (BigInt(first) >= size) continue
    parts.push([BigInt(first), last === '' || BigInt(last) >= size ? size - 1n : BigInt(last)])
  }
  if (elements.length > maxParts) return { kind: 'whole' }
  if (parts.length === 0) return { kind: 'unsatisfiable' }
  const bytes = parts.reduce((sum, [first, last]) => sum + last - first + 1n, 0n)
  return parts.length > 1 && bytes > size ? { kind: 'whole' } : { kind: 'parts', parts }
}

/** Removes OWS, which is spaces and tabs (§5.6.3). */
const strip = (text: string) => {
  let [from, to] = [0, text.length]
  while (from < to && (text[from] === ' ' || text[from] === '\t')) from++
  while (to > from && (text[to - 1] === ' ' || text[to - 1] === '\t')) to--
  return text.slice(from, to)
}
const isDigits = (text: string) => [...text].every(character => character >= '0' && character <= '9')

const position = fc.oneof(
  { weight: 6, arbitrary: fc.nat(40).map(String) },
  fc.constantFrom('', '00', '007', '9007199254740993', '99999999999999999999999', '1e3', '0x1', '+1', '-1'),
  fc.constantFrom('٣', '１', 'a', ' ', '1 2', '.'),
)
const spec = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(position, position).map(([first, last]) => `${first}-${last}`) },
  fc.constantFrom('', ' ', '-', '--', '5', 'first-last', '\t3-4 '),
)
/** Mostly valid headers. */
const rightSpec = fc.oneof(
  fc.tuple(fc.nat(40), fc.nat(40)).map(([first, more]) => `${first}-${first + more}`),
  fc.nat(40).map(first => `${first}-`),
  fc.nat(40).map(last => `-${last}`),
)
const unit = fc.oneof(
  { weight: 10, arbitrary: fc.constant('bytes=') },
  fc.mixedCase(fc.constant('bytes=')),
  fc.constantFrom('', 'bytes', 'bytes =', 'bytes:', 'lines=', 'bytes==', ' bytes=', 'xbytes=', 'none='),
)
const list = (one: fc.Arbitrary<string>, most: number) =>
  fc
    .tuple(fc.array(one, { maxLength: most }), fc.constantFrom(',', ', ', ' ,\t', ',,'))
    .map(([specs, between]) => specs.join(between))
const header = fc.oneof(
  { weight: 5, arbitrary: list(rightSpec, 6).map(specs => `bytes=${specs}`) },
  { weight: 4, arbitrary: fc.tuple(unit, list(spec, 5)).map(parts => parts.join('')) },
  list(
    fc.nat(70).map(n => `${n}-${n}`),
    60,
  ).map(specs => `bytes=${specs}`),
  fc.string({ maxLength: 20, unit: 'binary' }),
)
const sizes = [0, 1, 2, 10, 33, 64]

test('F2 any Range header is parsed as RFC 9110 says', () => {
  fc.assert(
    fc.property(header, fc.oneof(fc.constantFrom(...sizes), fc.nat(5_000)), (text, size) => {
      const wanted = expected(text, size)
      const found = readRanges(text, size)
      if (wanted.kind === 'whole') return assert.equal(found, 'whole')
      if (wanted.kind === 'unsatisfiable') return assert.equal(found, 'none')
      assert.ok(Array.isArray(found))
      assert.deepEqual(
        found.map(({ start, end }) => [BigInt(start), BigInt(end)]),
        wanted.parts,
      )
    }),
    runs(2_000, 20_000),
  )
})

/**
 * Returns random contents with dashes and line breaks, which boundaries contain, too. Bytes that tell their
 * position would match by chance.
 */
const contentsOf = (size: number) =>
  Buffer.from(Array.from(randomBytes(size), (byte, at) => (at % 5 === 0 ? 0x2d : at % 7 === 0 ? 0x0a : byte)))

async function withFiles(service: Service) {
  const contents = sizes.map(contentsOf)
  const { bitstreams } = await putItem(
    service,
    'test/1',
    everybody,
    contents.map((content, n) => ({ name: `file ${n}`, content, mimeType: 'application/pdf' })),
  )
  return contents.map((content, at) => {
    const bitstream = bitstreams[at]
    assert.ok(bitstream)
    return { content, url: service.address + contentOf(bitstream) }
  })
}

test('F2 any Range header is answered with exactly the named bytes, in order', async t => {
  const files = await withFiles(await startService(t))
  // Only characters that can be sent in a header.
  const sendable = header.filter(text => /^[\t\x20-\x7e\x80-\xff]*$/.test(text))
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...files), sendable, async ({ content, url }, text) => {
      const wanted = expected(text, content.length)
      const response = await fetch(url, { headers: { range: text } })
      const body = Buffer.from(await response.arrayBuffer())
      assert.equal(response.headers.get('content-length'), String(body.length))
      const range = response.headers.get('content-range')
      if (wanted.kind === 'whole') {
        assert.deepEqual([response.status, range], [200, null])
        return assert.deepEqual(body, content)
      }
      if (wanted.kind === 'unsatisfiable')
        return assert.deepEqual([response.status, range], [416, `bytes */${content.length}`])
      assert.equal(response.status, 206)
      const parts = wanted.parts.map(([first, last]) => ({
        range: `bytes ${first}-${last}/${content.length}`,
        bytes: content.subarray(Number(first), Number(last) + 1),
      }))
      const type = response.headers.get('content-type') ?? ''
      if (parts.length > 1) {
        // §15.3.7.2: Content-Range is in the parts, not in the head.
        assert.equal(range, null)
        return assert.deepEqual(
          partsIn(body, type),
          parts.map(part => ({ ...part, type: 'application/pdf' })),
        )
      }
      assert.equal(type, 'application/pdf')
      assert.deepEqual([{ range, bytes: body }], parts)
    }),
    runs(60, 600),
  )
})

/**
 * Parses multipart/byteranges (§14.6) in the form of RFC 2046 §5.1.1; each part is as long as its
 * Content-Range says.
 */
function partsIn(body: Buffer, type: string) {
  const boundary = /^multipart\/byteranges; boundary=([\w'()+,./:=?-]{1,70})$/.exec(type)?.[1]
  assert.ok(boundary, type)
  const parts: { type: string; range: string; bytes: Buffer }[] = []
  let at = 0
  const take = (text: string) => {
    assert.equal(body.toString('latin1', at, at + text.length), text)
    at += text.length
  }
  for (;;) {
    take(`\r\n--${boundary}`)
    if (body.toString('latin1', at, at + 2) === '--') break
    take('\r\n')
    const headEnd = body.indexOf('\r\n\r\n', at)
    assert.ok(headEnd > 0)
    const fields = new Map(
      body
        .toString('latin1', at, headEnd)
        .split('\r\n')
        .map(line => [line.split(': ')[0]?.toLowerCase(), line.split(': ')[1] ?? '']),
    )
    const range = fields.get('content-range') ?? ''
    const [, first, last] = /^bytes (\d+)-(\d+)\/\d+$/.exec(range) ?? []
    const length = Number(last) - Number(first) + 1
    at = headEnd + 4
    parts.push({ type: fields.get('content-type') ?? '', range, bytes: body.subarray(at, at + length) })
    at += length
  }
  take('--\r\n')
  assert.equal(at, body.length, 'nothing comes behind the end')
  return parts
}
