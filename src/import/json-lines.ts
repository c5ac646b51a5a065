import { isUtf8 } from 'node:buffer'
import { isObject, parseWritten } from '../lib/json.ts'
import { asImportError } from './faults.ts'
import { ImportError, shown } from './import-error.ts'
import { maxLineBytes, notUtf8, textFrom, wholeLines } from './utf8.ts'

/** A record, and the line on which it begins, counted from 1. */
export interface ReadRecord {
  readonly line: number
  readonly record: Readonly<Record<string, unknown>>
}

/** A part of the unpacked JSON to parse: complete lines, or elements of an array. */
export type Piece =
  | { readonly kind: 'lines'; readonly first: number; readonly bytes: Buffer }
  | {
      readonly kind: 'elements'
      readonly bytes: Buffer
      /** Offsets at which the elements end. */
      readonly ends: readonly number[]
      /** Lines on which the elements begin. */
      readonly lines: readonly number[]
    }

/**
 * Size of a piece in bytes: large enough to share out among threads, and small enough for
 * each thread to hold one.
 */
const pieceBytes = 2 * 1024 * 1024
/**
 * Maximum number of elements of a piece, because the positions of very small elements take more
 * memory than their bytes.
 */
const pieceElements = 20_000

/**
 * Reads NDJSON (https://github.com/ndjson/ndjson-spec): one JSON object per line; empty lines are skipped.
 */
export async function* ndjsonPieces(chunks: AsyncIterable<Buffer>): AsyncIterable<Piece> {
  for await (const lines of wholeLines(chunks, pieceBytes)) yield { kind: 'lines', ...lines }
}

/** Parses the records of a piece. @param refuse is called for each line or element that is not a record */
export function* recordsOf(piece: Piece, refuse: (error: ImportError) => void): Iterable<ReadRecord> {
  for (const { line, bytes } of partsOf(piece)) {
    if (!isUtf8(bytes)) {
      refuse(notUtf8(bytes, line))
      continue
    }
    const text = textFrom(line, bytes)
    // An element may span several lines.
    const lines = piece.kind === 'elements' ? [text] : text.split('\n')
    for (const [at, json] of lines.entries()) {
      if (json.trim() === '') continue
      const record = recordOf(json, line + at, refuse)
      if (record) yield { line: line + at, record }
    }
  }
}

/** Iterates over the elements, or over the lines. Lines come all together, unless some are not UTF-8. */
function* partsOf(piece: Piece): Iterable<{ readonly line: number; readonly bytes: Buffer }> {
  const { bytes } = piece
  if (piece.kind === 'lines' && isUtf8(bytes)) yield { line: piece.first, bytes }
  else if (piece.kind === 'lines')
    for (let from = 0, line = piece.first; from < bytes.length; line++) {
      const end = bytes.indexOf(0x0a, from) + 1 || bytes.length
      yield { line, bytes: bytes.subarray(from, end) }
      from = end
    }
  else
    for (const [at, end] of piece.ends.entries())
      yield { line: piece.lines[at] as number, bytes: bytes.subarray(piece.ends[at - 1] ?? 0, end) }
}

/** @returns undefined if it is not a record */
function recordOf(
  json: string,
  line: number,
  refuse: (error: ImportError) => void,
): Record<string, unknown> | undefined {
  try {
    return parseRecord(json, line)
  } catch (error) {
    refuse(asImportError(error))
    return undefined
  }
}

/** @throws ImportError naming the line */
function parseRecord(json: string, line: number): Record<string, unknown> {
  if (isTooDeep(json))
    throw new ImportError(
      `arrays and objects are nested more than ${maxDepth.toLocaleString('en')} levels deep; flatten them`,
      { line },
    )
  let value: unknown
  try {
    value = parseWritten(json)
  } catch (error) {
    throw new ImportError(
      `not valid JSON (${reasonOf(error)}); expected one JSON object per line, or one array of objects`,
      { line, cause: error },
    )
  }
  if (!isObject(value))
    throw new ImportError(`not a JSON object but ${shown(value)}; every record is an object, in braces`, {
      line,
    })
  return value
}

/** Maximum depth of nesting. Deeper records take very much memory to parse, and can't be written again. */
export const maxDepth = 1_000

/**
 * True if the nesting is too deep. Brackets in strings are removed only if the depth with them is
 * too large, which is rare.
 */
export const isTooDeep = (json: string): boolean =>
  json.length > maxDepth &&
  depthOf(json) > maxDepth &&
  depthOf(json.replace(/"(?:[^"\\]|\\.)*"/gs, '""')) > maxDepth

/** Returns the maximum number of open brackets. */
function depthOf(json: string): number {
  let depth = 0
  let most = 0
  for (let at = 0; at < json.length; at++) {
    // The codes of [ and {, and of ] and }, differ only in one bit.
    const bracket = json.charCodeAt(at) & 0xdf
    if (bracket === 0x5b) most = Math.max(most, ++depth)
    else if (bracket === 0x5d) depth--
  }
  return most
}

/**
 * Returns the parser's reason with the position in the record. The parser counts lines from the beginning of
 * the record, which could be mistaken for lines of the file.
 */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replace(
      / in JSON at position (\d+).*$/,
      (_, position) => ` at character ${Number(position) + 1} of the record`,
    )
    .replace(/\s+/g, ' ')

/**
 * Reads a JSON array of objects, of any size. The ends of elements are found by counting brackets outside of
 * strings; only the parser decides whether the elements are valid.
 */
export async function* arrayPieces(chunks: AsyncIterable<Buffer>): AsyncIterable<Piece> {
  let state = 'before' as 'before' | 'between' | 'element' | 'after'
  let depth = 0
  let inString = false
  let escaped = false
  let line = 1
  let startLine = 1
  let commas = 0
  let elements = 0
  let held = 0
  /** The elements of the next piece, and the parts of the element that isn't complete yet. */
  let whole: Buffer[] = []
  let ends: number[] = []
  let lines: number[] = []
  let parts: Buffer[] = []
  let end = 0
  const take = (): Piece => {
    const piece: Piece = { kind: 'elements', bytes: Buffer.concat(whole), ends, lines }
    whole = []
    ends = []
    lines = []
    end = 0
    return piece
  }

  for await (const chunk of chunks) {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (byte === 0x0a) line++
      if (state === 'element') {
        if (inString) {
          if (escaped) escaped = false
          else if (byte === 0x5c) escaped = true
          else if (byte === 0x22) inString = false
          continue
        }
        if (byte === 0x22) inString = true
        else if (byte === 0x7b || byte === 0x5b) depth++
        else if (byte === 0x7d || byte === 0x5d) depth--
        if (depth > 0) continue
        parts.push(chunk.subarray(from, at + 1))
        end += held + at + 1 - from
        whole.push(...parts)
        ends.push(end)
        lines.push(startLine)
        parts = []
        held = 0
        elements++
        state = 'between'
      } else if (byte <= 0x20 || (state === 'before' && (byte === 0xef || byte === 0xbb || byte === 0xbf))) {
        // White space and the byte-order mark are ignored here.
      } else if (state === 'before' && byte === 0x5b) state = 'between'
      else if (state === 'between' && byte === 0x2c && commas < elements) commas++
      else if (state === 'between' && byte === 0x5d && (elements === 0 || commas === elements - 1))
        state = 'after'
      else if (state === 'between' && byte === 0x7b && commas === elements) {
        state = 'element'
        depth = 1
        startLine = line
        from = at
      } else {
        // The preceding elements are passed on before the error.
        if (ends.length > 0) yield take()
        throw new ImportError(
          `unexpected ${JSON.stringify(String.fromCharCode(byte))}; expected one array of objects, separated by commas`,
          { line },
        )
      }
    }
    if (state === 'element') {
      parts.push(chunk.subarray(from))
      held += chunk.length - from
      if (held > maxLineBytes) {
        if (ends.length > 0) yield take()
        throw new ImportError(`a record longer than 16 MB; is a closing brace missing?`, { line: startLine })
      }
    }
    if (end >= pieceBytes || ends.length >= pieceElements) yield take()
  }
  if (ends.length > 0) yield take()
  if (state !== 'after') throw new ImportError(`the array does not end; is the file cut off?`, { line })
}
