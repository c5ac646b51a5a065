import { isUtf8 } from 'node:buffer'
import { parseExact } from '../lib/json.ts'
import { badEncoding, maxLineBytes, readLines } from './lines.ts'
import { ImportError } from './source.ts'

/** A record as it was read, and the line it began on, counted from 1. */
export interface ReadRecord {
  readonly line: number
  readonly record: Readonly<Record<string, unknown>>
}

/** NDJSON (https://github.com/ndjson/ndjson-spec): a JSON object a line; empty lines are passed over. */
export async function* readNdjson(chunks: AsyncIterable<Buffer>): AsyncIterable<ReadRecord[]> {
  for await (const { first, text } of readLines(chunks)) {
    const records: ReadRecord[] = []
    for (const [at, json] of text.split('\n').entries())
      if (json.trim() !== '') records.push({ line: first + at, record: parseRecord(json, first + at) })
    yield records
  }
}

/** @throws ImportError naming the line */
export function parseRecord(json: string, line: number): Record<string, unknown> {
  let value: unknown
  try {
    value = parseExact(json)
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ')
    throw new ImportError(
      `line ${line}: not valid JSON (${why}); expected one JSON object a line, or one array of objects`,
    )
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ImportError(`line ${line}: not a JSON object but ${JSON.stringify(value)?.slice(0, 60)}`)
  return value as Record<string, unknown>
}

/**
 * A JSON array of objects, of any size: the elements are cut out byte by byte and parsed one at a time. Strings are
 * stepped over, brackets counted; whether each piece is valid is the parser's business.
 */
export async function* readJsonArray(chunks: AsyncIterable<Buffer>): AsyncIterable<ReadRecord[]> {
  let state = 'before' as 'before' | 'between' | 'element' | 'behind'
  let depth = 0
  let inString = false
  let escaped = false
  let line = 1
  let startLine = 1
  let commas = 0
  let elements = 0
  let pieces: Buffer[] = []
  let held = 0

  for await (const chunk of chunks) {
    const records: ReadRecord[] = []
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
        const whole = Buffer.concat([...pieces, chunk.subarray(from, at + 1)])
        if (!isUtf8(whole)) throw badEncoding(whole, startLine)
        records.push({ line: startLine, record: parseRecord(whole.toString(), startLine) })
        pieces = []
        held = 0
        elements++
        state = 'between'
      } else if (byte <= 0x20 || (state === 'before' && (byte === 0xef || byte === 0xbb || byte === 0xbf))) {
        // White space, or the byte-order mark.
      } else if (state === 'before' && byte === 0x5b) state = 'between'
      else if (state === 'between' && byte === 0x2c && commas < elements) commas++
      else if (state === 'between' && byte === 0x5d && (elements === 0 || commas === elements - 1))
        state = 'behind'
      else if (state === 'between' && byte === 0x7b && commas === elements) {
        state = 'element'
        depth = 1
        startLine = line
        from = at
      } else
        throw new ImportError(
          `line ${line}: unexpected ${JSON.stringify(String.fromCharCode(byte))}; expected one array of objects`,
        )
    }
    if (state === 'element') {
      pieces.push(chunk.subarray(from))
      held += chunk.length - from
      if (held > maxLineBytes) throw new ImportError(`line ${startLine}: a record longer than 16 MB`)
    }
    yield records
  }
  if (state !== 'behind') throw new ImportError(`line ${line}: the array does not end; is the file cut off?`)
}
