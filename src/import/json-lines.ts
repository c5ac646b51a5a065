import { isUtf8 } from 'node:buffer'
import { parseExact } from '../lib/json.ts'
import { badEncoding, maxLineBytes, readLines } from './lines.ts'
import { ImportError } from './source.ts'

/** A record, and the line that it begins on, counted from 1. */
export interface ReadRecord {
  readonly line: number
  readonly record: Readonly<Record<string, unknown>>
}

/** NDJSON (https://github.com/ndjson/ndjson-spec): one JSON object per line; empty lines are skipped. */
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
    throw new ImportError(
      `line ${line}: not valid JSON (${reasonOf(error)}); expected one JSON object per line, or one array of objects`,
      { cause: error },
    )
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ImportError(
      `line ${line}: not a JSON object but ${JSON.stringify(value)?.slice(0, 60)}; every record is an object, in braces`,
    )
  return value as Record<string, unknown>
}

/** The parser counts lines from the beginning of the record: they would be mistaken for lines of the file. */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replace(
      / in JSON at position (\d+).*$/,
      (_, position) => ` at character ${Number(position) + 1} of the record`,
    )
    .replace(/\s+/g, ' ')

/**
 * A JSON array of objects, of any size. The bytes of each element are found by counting brackets outside of strings, and
 * then parsed; only the parser decides whether they are valid.
 */
export async function* readJsonArray(chunks: AsyncIterable<Buffer>): AsyncIterable<ReadRecord[]> {
  let state = 'before' as 'before' | 'between' | 'element' | 'after'
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
        // White space and the byte-order mark mean nothing here.
      } else if (state === 'before' && byte === 0x5b) state = 'between'
      else if (state === 'between' && byte === 0x2c && commas < elements) commas++
      else if (state === 'between' && byte === 0x5d && (elements === 0 || commas === elements - 1))
        state = 'after'
      else if (state === 'between' && byte === 0x7b && commas === elements) {
        state = 'element'
        depth = 1
        startLine = line
        from = at
      } else
        throw new ImportError(
          `line ${line}: unexpected ${JSON.stringify(String.fromCharCode(byte))}; expected one array of objects, separated by commas`,
        )
    }
    if (state === 'element') {
      pieces.push(chunk.subarray(from))
      held += chunk.length - from
      if (held > maxLineBytes)
        throw new ImportError(`line ${startLine}: a record longer than 16 MB; is a closing brace missing?`)
    }
    yield records
  }
  if (state !== 'after') throw new ImportError(`line ${line}: the array does not end; is the file cut off?`)
}
