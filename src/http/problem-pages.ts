import type { FastifyInstance } from 'fastify'
import { Problem, type ProblemCode, problems } from '../problems.ts'
import type { Addresses } from './addresses.ts'
import { allowOnly } from './methods.ts'

/** The documentation that the `type` of a problem leads to (RFC 9457 §3.1.1): the service explains its own errors. */
export function problemPages(app: FastifyInstance, addresses: Addresses): void {
  app.get<{ Params: { code: string } }>('/problems/:code', async (request, reply) => {
    const { code } = request.params
    if (!Object.hasOwn(problems, code)) throw new Problem('not-found', 'There is no problem of this name.')
    const { status, title, help } = problems[code as ProblemCode]
    return reply
      .type('text/html; charset=utf-8')
      .send(
        `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>` +
          `<p><code>${code}</code>, status ${status}</p><p>${escapeHtml(help)}</p>`,
      )
  })
  app.get('/problems', async () =>
    Object.entries(problems).map(([code, problem]) => ({ code, type: addresses.problem(code), ...problem })),
  )
  allowOnly(app, '/problems', ['GET', 'HEAD'])
  allowOnly(app, '/problems/:code', ['GET', 'HEAD'])
}

const escapeHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
