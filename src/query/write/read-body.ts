import type { FastifyRequest } from 'fastify'
import { exactBody } from '../../http/json-body.ts'
import { Problem } from '../../http/problems.ts'
import { parseWritten } from '../../lib/json.ts'

/** Maximum size of a body and of a record, in bytes. */
export const maxRecord = 1024 * 1024

/** Maximum depth of nested arrays and objects, as in imported records. */
const maxDepth = 1_000

/**
 * Reads the JSON of a body, with all digits of its numbers.
 * @throws Problem 400 for a body that isn't JSON in UTF-8, or is nested too deeply
 */
export const readJson = (request: FastifyRequest): unknown =>
  exactBody(request, text => {
    requireFlat(text, 'bad-request')
    return parseWritten(text)
  })

/**
 * @param code code of the problem
 * @throws Problem for JSON that would take very much memory to read, or couldn't be written again
 */
export function requireFlat(json: string, code: 'bad-request' | 'record-refused'): void {
  if (depthOf(json) > maxDepth)
    throw new Problem(
      code,
      `Arrays and objects are nested more than ${maxDepth.toLocaleString('en')} levels deep; flatten them.`,
    )
}

function depthOf(json: string): number {
  let depth = 0
  let most = 0
  let isText = false
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === backslash && isText) at++
    else if (code === quoteMark) isText = !isText
    else if (isText) continue
    else if (code === openBracket || code === openBrace) most = Math.max(most, ++depth)
    else if (code === closeBracket || code === closeBrace) depth--
  }
  return most
}

const quoteMark = 0x22
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
