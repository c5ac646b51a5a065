import type { FastifyInstance } from 'fastify'
import { FilesUnavailable } from '../lib/errors.ts'
import type { Limits } from '../model/limits.ts'
import { outside, reads } from './access.ts'
import type { Addresses } from './addresses.ts'
import { contractsIn, routesOf } from './contract.ts'
import { sendPage, sentenceHtml } from './html-page.ts'
import { Problem, type ProblemCode, problems } from './problems.ts'

interface Parts {
  /** Rejects when the store does not answer. */
  readonly ping: () => Promise<void> | void
  /** Rejects when the folder of files is lost. */
  readonly requireFiles: () => Promise<void>
  readonly loops: Limits['loops']
}

const route = contractsIn(() => import('./start-contracts.ts'))

/**
 * `GET /health/live`: the process answers. `GET /health/ready`: the store answers, has the files that it
 * opened, and the folder of files is there; otherwise 503 (D5). While a worker is being replaced, the answer
 * says how many run.
 */
export function healthRoutes(app: FastifyInstance, { ping, requireFiles, loops }: Parts): void {
  routesOf(app).get('/health/live', route('showLiveness', outside()), async () => ({
    status: 'live',
  }))
  routesOf(app).get('/health/ready', route('showReadiness', outside()), async () => {
    await ping()
    await requireFiles().catch(cause => {
      if (cause instanceof FilesUnavailable) throw cause
      throw new Problem('store-unavailable', 'The files are missing. The log says where.', {
        headers: { 'retry-after': '5' },
        cause,
      })
    })
    const { running, wanted } = loops()
    return running < wanted ? { status: 'ready', workers: { running, wanted } } : { status: 'ready' }
  })
}

/** The page that the `type` of a problem links to (RFC 9457 §3.1.1). */
export function problemPages(app: FastifyInstance, addresses: Addresses): void {
  routesOf(app).get<{ Params: { code: string } }>(
    '/problems/:code',
    route('showProblem', reads('anybody', 'any')),
    async (request, reply) => {
      const { code } = request.params
      if (!Object.hasOwn(problems, code))
        throw new Problem('not-found', 'There is no problem with this code.')
      const { status, title, help } = problems[code as ProblemCode]
      return sendPage(
        reply,
        title,
        `<p>${sentenceHtml(help)}</p><p><code>${code}</code> <small>status ${status}</small></p>`,
      )
    },
  )
  routesOf(app).get('/problems', route('listProblems', reads('anybody', 'any')), async () =>
    Object.entries(problems).map(([code, problem]) => ({ code, type: addresses.problem(code), ...problem })),
  )
}
