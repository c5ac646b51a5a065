import type { LoginMethod } from '../model/accounts.ts'

/** A login method, and the address where it starts, unless the client has its own form for it. */
export interface Way {
  readonly method: LoginMethod
  readonly location?: string
}

/**
 * The value of WWW-Authenticate (L4, RFC 9110 §11.6.1): the login methods in the configured order.
 * @param realm printable ASCII
 */
export const challengeOf = (ways: readonly Way[], realm: string): string =>
  ways
    .map(({ method, location }) => {
      const parameters = [`realm="${quoted(realm)}"`, ...(location ? [`location="${quoted(location)}"`] : [])]
      return `${method} ${parameters.join(', ')}`
    })
    .join(', ')

const quoted = (text: string) => text.replace(/["\\]/g, '\\$&')
