import type { Contracts } from '../http/contract.ts'
import { always, answer, closed, json, Link, links, named, TemplatedLink, Type } from '../http/schema.ts'

export const Root = named('Root', {
  type: always('root'),
  _links: Type.Intersect([
    Type.Object({ self: Link, authn: Link, query: Link, items: Link, csrf: Link }),
    Type.Record(Type.String(), Type.Union([Link, TemplatedLink])),
  ]),
})

export const contracts = {
  showRoot: {
    summary: 'Links to everything',
    tag: 'Start',
    answers: { 200: answer('The links.', json(Root)) },
  },
  showAuthn: {
    summary: 'Links of authentication',
    tag: 'Authentication',
    answers: {
      200: answer(
        'The links.',
        json(
          closed({
            type: always('authn'),
            _links: links('login', 'logout', 'status', 'shortlivedtokens', 'sessions', 'tokens', 'self'),
          }),
        ),
      ),
    },
  },
  issueCsrf: {
    summary: 'A new CSRF pair',
    tag: 'Start',
    answers: { 204: { description: 'The pair is in the headers.' } },
  },
} as const satisfies Contracts
