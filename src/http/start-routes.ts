import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { FilesUnavailable } from '../lib/errors.ts'
import type { Limits } from '../model/limits.ts'
import { outside, reads } from './access.ts'
import type { Addresses } from './addresses.ts'
import { describeFault } from './answer-problems.ts'
import { contractsIn, routesOf } from './contract.ts'
import { sendPage, sentenceHtml } from './html-page.ts'
import { Problem, type ProblemCode, problems } from './problems.ts'

interface Parts {
  /** Rejects when the store does not answer. */
  readonly ping: () => Promise<void> | void
  /** Rejects when the folder of files is lost, and with FilesUnavailable while a bucket can't be used. */
  readonly requireFiles: () => Promise<void>
  readonly loops: Limits['loops']
  readonly phase: Limits['phase']
}

const route = contractsIn(() => import('./start-contracts.ts'))

/** Time in ms that an answer waits for the bucket: a probe that waits long counts as failed. */
const patienceWithFiles = 1_000

const sentences = {
  starting: 'The service is starting: it lacks its demo, or files of fields.',
  stopping: 'The service is stopping. Turn to another node.',
}

/**
 * `GET /health/live`: the process answers. `GET /health/ready`: the store answers, has the files that it opened, and
 * the folder of files is there; otherwise 503 (D5), also while it starts and stops. While a worker is being replaced,
 * the answer says how many run. A bucket that can't be used is only said, since every node would be taken out for it.
 */
export function healthRoutes(app: FastifyInstance, { ping, requireFiles, loops, phase }: Parts): void {
  const routes = routesOf(app)
  const late = new FilesUnavailable('the place of files does not answer in time')
  let isAway = false
  routes.get('/health/live', route('showLiveness', outside()), async () => ({
    status: 'live',
  }))
  routes.get('/health/ready', route('showReadiness', outside()), async request => {
    const now = phase()
    if (now !== 'ready') throw new Problem('busy', sentences[now], { headers: { 'retry-after': '5' } })
    await ping()
    const fault = await Promise.race([
      requireFiles().then(
        () => undefined,
        (cause: unknown) => cause,
      ),
      delay(patienceWithFiles, late, { ref: false }),
    ])
    if (fault !== undefined && !(fault instanceof FilesUnavailable))
      throw new Problem('store-unavailable', 'The files are missing. The log says where.', {
        headers: { 'retry-after': '5' },
        cause: fault,
      })
    // Probes come every few seconds: what changes is logged.
    if (fault && !isAway) request.log.warn({ fault: describeFault(fault) }, 'files can’t be read or written')
    if (!fault && isAway) request.log.warn('files can be read and written again')
    isAway = fault !== undefined
    const files = fault ? ({ files: 'unavailable' } as const) : {}
    const { running, wanted } = loops()
    const workers = running < wanted ? { workers: { running, wanted } } : {}
    return { status: 'ready' as const, ...files, ...workers }
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
