import type { FastifyRequest } from 'fastify'
import { Problem } from '../http/problems.ts'
import { exactText, parseWritten } from '../lib/json.ts'

export type Members = Readonly<Record<string, unknown>>

/** The size of a body and of a record, in bytes. */
export const maxRecord = 1024 * 1024

/** As deep as records that are imported may be. */
const maxDepth = 1_000

/**
 * The JSON of a body, with all digits of its numbers.
 * @throws Problem 400 for what is no JSON in UTF-8, or is nested too deeply
 */
export function readJson({ body }: FastifyRequest): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode((body as Buffer | undefined) ?? Buffer.alloc(0))
  } catch {
    throw new Problem('bad-request', 'The body is not well-formed UTF-8.')
  }
  requireFlat(text, 'bad-request')
  try {
    return parseWritten(text)
  } catch (error) {
    throw new Problem('bad-request', `The body is not well-formed JSON: ${reasonOf(error)}.`)
  }
}

/**
 * @param code of the problem
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

/** The place, without the parser's quotation of the body. */
function reasonOf(error: unknown): string {
  const place = error instanceof Error ? /position \d+/.exec(error.message)?.[0] : undefined
  return place === undefined ? 'it ends too early, or has an unexpected character' : `see ${place}`
}

/** An object of JSON, and no number that JavaScript would print otherwise. */
export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && exactText(value) === undefined
