import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { type DescribedRoute, describedRoutes } from '../../../src/http/contract.ts'
import type { Surroundings } from '../../../src/openapi/rules.ts'
import { atEnd } from '../service/at-end.ts'
import { comparisonWith } from './compare-answers.ts'
import { type Answered, recordAnswers } from './record-answers.ts'

interface Watched {
  readonly routes: readonly DescribedRoute[]
  /** Called with each answer. */
  tell: (answered: Answered) => void
}

const watched = new WeakMap<FastifyInstance, Watched>()

recordAnswers(app => {
  const one: Watched = { routes: describedRoutes(app), tell: () => {} }
  watched.set(app, one)
  return answered => one.tell(answered)
})

/** Compares every answer of a service with its document, and fails the test if one differs. */
export function watchAnswers(t: TestContext, app: FastifyInstance, surroundings: Surroundings): void {
  const one = watched.get(app)
  assert.ok(one, 'it was made after this file was loaded')
  const faults = new Set<string>()
  const waiting: Answered[] = []
  one.tell = answered => void waiting.push(answered)
  const ready = comparisonWith(one.routes, surroundings).then(({ faultsOf }) => {
    one.tell = answered => {
      for (const fault of faultsOf(answered))
        faults.add(`${answered.method} ${answered.path} → ${answered.status}: ${fault}`)
    }
    for (const answered of waiting.splice(0)) one.tell(answered)
  })
  atEnd(t, async () => {
    await ready
    assert.deepEqual([...faults].slice(0, 20), [], 'answers that are not documented')
  })
}
