import { parseExact } from '../lib/json.ts'
import type { Listing } from '../storage/entities.ts'

/** Joins the pieces of a listing, whose size must have a bound. */
export async function bytesOf(body: Listing['body']): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body)
  const pieces: Uint8Array[] = []
  for await (const piece of body) {
    if (pieces.length > 0) pieces.push(Buffer.from(','))
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** Reads the records of a listing in JSON. */
export const recordsIn = async <T>(body: Listing['body']): Promise<T[]> =>
  parseExact(`[${(await bytesOf(body)).toString()}]`) as T[]
