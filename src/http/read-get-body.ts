import type { FastifyRequest } from 'fastify'
import { Problem } from './problems.ts'

/**
 * Reads the body of a `GET`, which the framework leaves alone.
 * @param max size in bytes
 * @throws Problem 413 if the body is larger
 */
export async function readGetBody({ raw }: FastifyRequest, max: number): Promise<Buffer> {
  const tooLarge = () =>
    new Problem('body-too-large', `The body of the request is larger than ${max.toLocaleString('en')} bytes.`)
  if (Number(raw.headers['content-length'] ?? 0) > max) throw tooLarge()
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of raw.iterator({ destroyOnReturn: false })) {
    size += (piece as Buffer).length
    if (size > max) throw tooLarge()
    pieces.push(piece as Buffer)
  }
  return Buffer.concat(pieces)
}
