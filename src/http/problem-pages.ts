import type { FastifyInstance } from 'fastify'
import { reads } from './access.ts'
import type { Addresses } from './addresses.ts'
import { contractsIn, routesOf } from './contract.ts'
import { sendPage, sentenceHtml } from './html-page.ts'
import { Problem, type ProblemCode, problems } from './problems.ts'

const route = contractsIn(() => import('./start-contracts.ts'))

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
