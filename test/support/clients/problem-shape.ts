import assert from 'node:assert/strict'
import { type ProblemCode, problems } from '../../../src/http/problems.ts'
import { baseUrl } from '../service/service.ts'
import type { RawAnswer } from './raw.ts'

/** The body of a problem. */
export interface Body {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: ProblemCode
  readonly detail: string
  readonly message: string
  readonly path: string
  readonly requestId: string
}

/** Texts that must never be in an answer: stack traces, places in the code, SQL, and hashes. */
const leaks =
  /\n\s+at |node:internal|\.ts:\d|\.js:\d|node_modules|\/src\/|\b(SELECT|INSERT|UPDATE|DELETE) .*\b(FROM|INTO|SET)\b|sqlite|postgres|argon2|eyJ[\w-]/i

/** Checks RFC 9457 §3 and the additions of E1. */
function assertShape(text: string, contentType: string | null | undefined, expected: Expected): Body {
  const { code, path } = expected
  assert.match(contentType ?? '', /^application\/problem\+json\b/, `${contentType}: ${text}`)
  const body = JSON.parse(text) as Body
  const { status, title } = problems[code]
  assert.equal(body.code, code, text)
  assert.equal(body.status, status)
  assert.equal(body.title, title)
  assert.equal(body.type, `${baseUrl}/api/problems/${code}`)
  assert.ok(body.detail.length > 10, 'the detail says what is wrong')
  assert.equal(body.message, body.detail)
  assert.equal(body.path, path)
  assert.match(body.requestId, /^[\w.:@+/=-]{1,128}$/)
  assert.doesNotMatch(text, leaks)
  for (const secret of expected.never ?? []) assert.ok(!text.includes(secret), 'a secret is in the body')
  return body
}

/** The expected problem, and texts that must not be in the answer. */
export interface Expected {
  readonly code: ProblemCode
  readonly path: string
  readonly never?: readonly string[]
}

/** Asserts that the answer is this problem, in the one shape. */
export async function assertProblem(response: Response, expected: Expected): Promise<Body> {
  assert.equal(response.status, problems[expected.code].status, await response.clone().text())
  return assertShape(await response.text(), response.headers.get('content-type'), expected)
}

/** Asserts the same of an answer on a raw socket. */
export function assertRawProblem(answer: RawAnswer | undefined, expected: Expected): Body {
  assert.ok(answer, 'there is an answer')
  assert.equal(answer.status, problems[expected.code].status, answer.body)
  return assertShape(answer.body, answer.headers.get('content-type'), expected)
}
