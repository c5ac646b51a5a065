import { randomUUID } from 'node:crypto'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, problems } from '../problems.ts'
import { StoreUnavailable } from '../storage/storage.ts'
import { type Addresses, pathOf } from './addresses.ts'

interface Parts {
  readonly addresses: Addresses
  /** The value of WWW-Authenticate on every 401 (L4). */
  readonly challenge: string
}

/** The one place where a throw becomes an answer: `application/problem+json` (RFC 9457, contract E1). */
export function answerProblems({ addresses, challenge }: Parts) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = error instanceof Problem ? error : translate(error)
    const { status, title } = problems[problem.code]
    let members = problem.members
    if (status >= 500 && problem.code !== 'busy') {
      const id = randomUUID()
      if (problem.code === 'internal-error') members = { ...members, id }
      request.log.error({ id, path: pathOf(request.originalUrl), err: problem.cause }, problem.message)
    }
    if (status === 401) reply.header('www-authenticate', challenge)
    reply
      .code(status)
      .headers(problem.headers)
      .type('application/problem+json')
      .send(
        // Bytes, so that nothing is added to the media type.
        Buffer.from(
          JSON.stringify({
            type: addresses.problem(problem.code),
            title,
            status,
            code: problem.code,
            detail: problem.message,
            message: problem.message,
            path: pathOf(request.originalUrl),
            ...members,
          }),
        ),
      )
  }
}

/** Errors of the framework and of the store, by what they mean for the client. */
function translate(error: unknown): Problem {
  if (error instanceof StoreUnavailable)
    return new Problem('store-unavailable', 'The store does not answer at the moment; nothing was changed.', {
      headers: { 'retry-after': '5' },
      cause: error,
    })
  const status = error instanceof Error ? (error as Partial<FastifyError>).statusCode : undefined
  if (status === 413) return new Problem('body-too-large', 'The body is larger than 16 kB.')
  if (status === 415)
    return new Problem('unsupported-media-type', 'The Content-Type is not one that this endpoint reads.')
  if (status !== undefined && status >= 400 && status < 500)
    return new Problem(
      'bad-request',
      'The request is not well-formed HTTP, or its address has bad percent-encoding.',
    )
  return new Problem(
    'internal-error',
    'The service failed to answer this request; its log says more under this id.',
    {
      cause: error,
    },
  )
}
