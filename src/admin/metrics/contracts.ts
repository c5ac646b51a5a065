import type { Contracts } from '../../http/contract.ts'
import { answer, text } from '../../http/schema.ts'

export const tag = 'Start'

export const contracts = {
  showMetrics: {
    summary: 'Metrics for Prometheus',
    answers: { 200: answer('In the text format.', { 'text/plain': text }) },
    problems: ['authentication-required', 'store-unavailable', 'busy'],
  },
} as const satisfies Contracts
