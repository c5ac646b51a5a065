import assert from 'node:assert/strict'

/** The body of a problem, with the members that tests read. */
export interface ProblemBody {
  readonly type: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly message: string
}

/** Asserts that the answer is this problem (section 13 of the contract). */
export async function assertProblem(response: Response, status: number, code: string): Promise<ProblemBody> {
  const text = await response.text()
  assert.equal(response.status, status, text)
  assert.equal(response.headers.get('content-type'), 'application/problem+json')
  const problem = JSON.parse(text) as ProblemBody
  assert.equal(problem.code, code)
  return problem
}

/** Asserts that the answer is a 401 in accordance with L4. */
export async function assertUnauthorized(
  response: Response,
  code = 'authentication-required',
): Promise<void> {
  await assertProblem(response, 401, code)
  assert.equal(response.headers.get('www-authenticate'), 'password realm="Carrel"')
}

const different = new Set(['date', 'set-cookie', 'dspace-xsrf-token', 'x-request-id'])

/** Returns the body of a problem without the member that differs each time. */
export const withoutRequestId = (body: string): string => body.replace(/,"requestId":"[^"]+"/, '')

/** Returns an answer without what differs each time, so that two answers can be compared. */
export async function wholeAnswer(response: Response) {
  const headers = [...response.headers].filter(([name]) => !different.has(name))
  // An id differs in length, too.
  const plain = headers.map(([name, value]) => [name, name === 'content-length' ? '' : value])
  return {
    status: response.status,
    headers: plain,
    body: withoutRequestId(await response.text()),
  }
}

/** Returns the CSRF pair that came with the answer, if there was one. */
export function pairOf(
  response: Response,
): { cookie: string; value: string; attributes: string } | undefined {
  const value = response.headers.get('dspace-xsrf-token')
  const [cookie, ...more] = response.headers.getSetCookie()
  if (value === null && cookie === undefined) return undefined
  assert.ok(value && cookie && more.length === 0, 'header and cookie come together, once')
  const [pair = '', ...attributes] = cookie.split('; ')
  assert.equal(pair, `DSPACE-XSRF-COOKIE=${value}`)
  return { cookie: pair, value, attributes: attributes.join('; ') }
}
