import { parseWritten } from '../lib/json.ts'
import type { Field, Page } from './entities.ts'

export type RecordFormat = 'json' | 'ndjson' | 'csv'

/**
 * The separator between records. CSV is made from a JSON array, so its records are first joined by commas.
 */
export const separators: Readonly<Record<RecordFormat, ',' | '\n'>> = { json: ',', ndjson: '\n', csv: ',' }

export const joinPieces = (json: readonly string[], separator: string): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(json.join(separator))

/**
 * Converts records to CSV (RFC 4180 §2): one line for each record, without a line break after the last.
 * @param json records as JSON, joined by commas
 */
export function csvLines(json: string, fields: readonly Pick<Field, 'name'>[]): Uint8Array<ArrayBuffer> {
  const records = parseWritten(`[${json}]`) as Record<string, unknown>[]
  return new TextEncoder().encode(
    records
      .map(record =>
        fields.map(field => csvCell(Object.hasOwn(record, field.name) ? record[field.name] : null)).join(','),
      )
      .join('\r\n'),
  )
}

/** Returns the header line, which has the names of the fields. */
export const csvHeader = (fields: readonly Pick<Field, 'name'>[]): string =>
  fields.map(field => csvCell(field.name)).join(',')

/** Writes null as an empty cell and an empty text as "", so that the two differ. */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Maximum number of records of a page that is read and sent in one piece. */
export const shortPage = 100

/**
 * True if a page is read and sent in one piece. CSV is converted record by record, so it
 * is always sent in several.
 */
export const isShortPage = ({ limit }: Page, format: RecordFormat): boolean =>
  limit !== null && limit <= shortPage && format !== 'csv'

/** Joins the pieces of a listing, whose size must have a bound. */
export async function bytesOf(body: Pieces): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body)
  const pieces: Uint8Array[] = []
  for await (const piece of body) {
    if (pieces.length > 0) pieces.push(Buffer.from(','))
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** Reads the rows of a short list that was made as JSON. */
export const rowsIn = async <Row>(body: Pieces): Promise<Row[]> =>
  JSON.parse(`[${await bytesOf(body)}]`) as Row[]

/** JSON of records with commas between them, whole or in pieces. */
type Pieces = Uint8Array | AsyncIterable<Uint8Array>
