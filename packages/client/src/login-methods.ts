/** A method to log in. */
export interface LoginMethod {
  /** `password`, `webauthn` for passkeys that need no password, or the scheme of a provider. */
  readonly scheme: string
  /** The address to which the browser has to go; undefined for passwords and passkeys. */
  readonly location?: string
}

/**
 * Parses `WWW-Authenticate` (RFC 9110 §11.6.1) as far as this service uses it: schemes with parameters, all
 * of them quoted.
 */
export function methodsIn(header: string, returnTo: string | undefined): readonly LoginMethod[] {
  return [...header.matchAll(/([\w-]+)((?:\s*,?\s*[\w-]+="[^"]*")+)/g)].map(([, scheme = '', rest = '']) => {
    const [, location] = /location="([^"]*)"/.exec(rest) ?? []
    // Challenges for a passkey come from its location, which no browser visits.
    if (location === undefined || scheme === 'webauthn') return { scheme }
    const address = new URL(location)
    if (returnTo !== undefined) address.searchParams.set('redirectUrl', returnTo)
    return { scheme, location: address.href }
  })
}
