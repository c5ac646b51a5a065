import type { LoginMethod } from '../caller.ts'

/**
 * The value of WWW-Authenticate (L4, RFC 9110 §11.6.1): the ways to log in, in the configured order.
 * @param realm printable ASCII
 */
export const challengeOf = (methods: readonly LoginMethod[], realm: string): string =>
  methods.map(method => `${method} realm="${realm.replace(/["\\]/g, '\\$&')}"`).join(', ')
