import type { Contracts } from '../../http/contract.ts'
import { answer, text } from '../../http/schema.ts'

export const contracts = {
  showMetrics: {
    summary: 'Metrics for Prometheus',
    tag: 'Start',
    answers: { 200: answer('In the text format.', { 'text/plain': text }) },
    problems: ['authentication-required', 'store-unavailable', 'busy'],
  },
} as const satisfies Contracts
