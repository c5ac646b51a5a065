import type { Contracts } from '../http/contract.ts'
import { always, answer, closed, count, flag, json, named, oneOf, Type, text } from '../http/schema.ts'

export const tag = 'PuppetDB'

const Service = named('PuppetService', {
  service_version: text,
  service_status_version: always(1),
  detail_level: text,
  state: oneOf('running', 'error'),
  status: closed({
    'maintenance_mode?': flag,
    queue_depth: count,
    'read_db_up?': flag,
    'write_db_up?': flag,
  }),
  active_alerts: Type.Array(Type.Never(), { maxItems: 0 }),
})

const jolokia = (request: Parameters<typeof closed>[0], value: Parameters<typeof Type.Array>[0]) =>
  closed({ request: closed(request), value, timestamp: count, status: always(200) })

export const contracts = {
  listServices: {
    summary: 'State of the service, in a list',
    answers: { 200: answer('Also when it does not.', json(closed({ 'puppetdb-status': Service }))) },
  },
  showService: {
    summary: 'State of the service',
    answers: { 200: answer('Also when it does not.', json(Service)) },
  },
  showSimpleStatus: (operationId: string) => ({
    operationId,
    summary: 'State of the service, as a word',
    answers: {
      200: answer('It runs.', { 'text/plain': always('running') }),
      503: answer('The store doesn’t answer.', { 'text/plain': always('error') }),
    },
  }),
  showJolokia: {
    summary: 'Names under which numbers are read',
    answers: {
      200: answer(
        'The version.',
        json(
          jolokia(
            { type: always('version') },
            closed({ agent: text, protocol: text, info: closed({ product: text, version: text }) }),
          ),
        ),
      ),
    },
  },
  listNumbers: {
    summary: 'List the numbers',
    answers: {
      200: answer(
        'Their names.',
        json(
          jolokia(
            { type: always('list') },
            Type.Record(
              text,
              Type.Record(text, closed({ attr: closed({ Value: closed({ rw: always(false) }) }) })),
            ),
          ),
        ),
      ),
    },
  },
  showNumber: {
    summary: 'Number of nodes or resources that the caller may read',
    answers: {
      200: answer(
        'The number. In this protocol, errors are told in the body.',
        json(
          Type.Union([
            jolokia({ mbean: text, type: always('read') }, closed({ Value: Type.Number() })),
            closed({
              request: closed({ mbean: text, type: always('read') }),
              error_type: text,
              error: text,
              status: always(404),
            }),
          ]),
        ),
      ),
    },
    problems: ['query-timeout'],
  },
} as const satisfies Contracts
