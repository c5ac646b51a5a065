import { intervalOf } from '../../lib/intervals.ts'
import { numberText } from '../../lib/json-text.ts'
import { periodOf } from '../../lib/periods.ts'
import type { Computed } from '../../model/plan.ts'

/**
 * Computes a value of another one (docs/decisions/0074).
 * @param value not null, with exact numbers
 * @returns its JSON; undefined if there is none
 */
export function computedOf(computed: Computed, value: unknown): string | undefined {
  switch (computed.kind) {
    case 'interval': {
      const number = numberText(value)
      return number === undefined ? undefined : intervalOf(number, computed.width)
    }
    case 'period': {
      const start = typeof value === 'string' ? periodOf(value, computed.unit) : undefined
      return start && JSON.stringify(start)
    }
    case 'length':
      return Array.isArray(value) ? String(value.length) : undefined
  }
}

/** True if no other value comes between two values of which the same is computed. */
export const isGradual = ({ kind }: Computed): boolean => kind === 'interval' || kind === 'period'
