import type { Contracts } from './contract.ts'
import { problems } from './problems.ts'
import { always, answer, closed, count, json, named, oneOf, Type, text, uri } from './schema.ts'

export const KnownProblem = named('KnownProblem', {
  code: oneOf(...(Object.keys(problems) as (keyof typeof problems)[])),
  type: uri,
  status: Type.Integer({ minimum: 400, maximum: 599 }),
  title: text,
  help: text,
})

export const tag = 'Start'

export const contracts = {
  showLiveness: {
    summary: 'Liveness: the process answers',
    answers: { 200: answer('It does.', json(closed({ status: always('live') }))) },
  },
  showReadiness: {
    summary: 'Readiness: the store and the files are there',
    answers: {
      200: answer(
        'They are. `workers` is there while one of them is being replaced, `files` while the bucket of files can’t be used.',
        json(
          closed({
            status: always('ready'),
            files: Type.Optional(always('unavailable')),
            workers: Type.Optional(closed({ running: count, wanted: count })),
          }),
        ),
      ),
    },
    problems: ['store-unavailable', 'busy'],
  },
  listProblems: {
    summary: 'All problems that there are',
    answers: { 200: answer('Each with its code and what helps.', json(Type.Array(KnownProblem))) },
  },
  showProblem: {
    summary: 'The page about a problem',
    description: 'The `type` of a problem leads here.',
    answers: { 200: answer('A page.', { 'text/html': text }) },
    problems: ['not-found'],
  },
} as const satisfies Contracts
