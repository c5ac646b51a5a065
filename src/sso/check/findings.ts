/** One result of `carrel sso check`. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error'
  /** A provider's id, or `carrel`. */
  readonly about: string
  readonly what: string
}

export type Found = Omit<Finding, 'about'>
export const ok = (what: string): Found => ({ level: 'ok', what })
export const warning = (what: string): Found => ({ level: 'warning', what })
export const error = (what: string): Found => ({ level: 'error', what })
