/** A range of bytes that a request asks for (RFC 9110 §14). */
export interface ByteRange {
  /** The first byte. */
  readonly start: number
  /** The last byte. */
  readonly end: number
}

/** Maximum number of ranges. More cost more than the whole file, which is sent instead (RFC 9110 §14.2). */
const maxRanges = 50

/**
 * Reads a Range header.
 * @param size size of the file in bytes
 * @returns the ranges in the requested order; `whole` if the header is missing or to be ignored; `none` if no
 * range contains a byte of the file (416)
 */
export function readRanges(
  header: string | undefined,
  size: number,
): readonly ByteRange[] | 'whole' | 'none' {
  const list = /^bytes=(.*)$/i.exec(header?.trim() ?? '')?.[1]
  if (list === undefined) return 'whole'
  const parts = list.split(',').map(part => part.trim())
  const ranges: ByteRange[] = []
  let specs = 0
  for (const part of parts) {
    // Empty list elements are ignored (RFC 9110 §5.6.1.2).
    if (part === '') continue
    const range = readRange(part, size)
    if (range === 'malformed') return 'whole'
    specs++
    if (range !== 'outside') ranges.push(range)
  }
  if (specs === 0 || specs > maxRanges) return 'whole'
  if (ranges.length === 0) return 'none'
  const asked = ranges.reduce((sum, { start, end }) => sum + end - start + 1, 0)
  // Overlapping ranges would let a small request cause a large response (RFC 9110 §17.15).
  return ranges.length > 1 && asked > size ? 'whole' : ranges
}

function readRange(text: string, size: number): ByteRange | 'outside' | 'malformed' {
  const [, first, last] = /^(\d*)-(\d*)$/.exec(text) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'malformed'
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'outside' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < start) return 'malformed'
  return start >= size ? 'outside' : { start, end }
}
