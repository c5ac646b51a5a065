import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { contractsIn } from '../../http/contract.ts'
import { Problem } from '../../http/problems.ts'
import type { Entities } from '../../storage/entities.ts'
import type { Answers } from '../answer.ts'
import { givenBy, queryRoute } from '../given.ts'
import { nodeOf } from '../language/node.ts'
import type { LongTexts } from '../long-texts.ts'
import { parseAsked } from '../parse.ts'
import { planOf } from '../plan.ts'
import { knownTo } from '../readable.ts'

const route = contractsIn(() => import('../contracts.ts'))

interface Parts {
  readonly entities: Entities
  readonly answers: Answers
  readonly texts: LongTexts
  readonly address: string
}

/** `/fact-names`, the names of all facts, as texts (Q24): of an entity `facts` with a field `name`. */
export function factNameRoutes(app: FastifyInstance, { entities, answers, texts, address }: Parts): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    await knownTo(entities, request, 'facts')
    const asked = parseAsked(await givenBy(request, texts))
    if (asked.query !== undefined)
      throw new Problem(
        'bad-request',
        'The address fact-names takes no query. Ask facts for names under a condition.',
      )
    return answers.answer(
      request,
      reply,
      address,
      async () => {
        const known = await knownTo(entities, request, 'facts')
        const order = asked.order ?? '[{"field": "name"}]'
        return {
          asked,
          plan: planOf({ ...asked, order }, known, {
            columns: nodeOf(['name']),
            clauses: [nodeOf(['distinct'])],
          }),
        }
      },
      'values',
    )
  }
  for (const url of ['/fact-names', '/fact_names'])
    queryRoute(app, url, method => route('listFactNames', method, url), handler)
}
