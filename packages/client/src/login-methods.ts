/** A way to log in. */
export interface LoginMethod {
  /** `password`, or the scheme of a provider. */
  readonly scheme: string
  /** Where a browser has to go; nothing for passwords. */
  readonly location?: string
}

/** RFC 9110 §11.6.1, as far as this service uses it: a scheme and its parameters, all of them quoted. */
export function methodsIn(header: string, returnTo: string | undefined): readonly LoginMethod[] {
  return [...header.matchAll(/([\w-]+)((?:\s*,?\s*[\w-]+="[^"]*")+)/g)].map(([, scheme = '', rest = '']) => {
    const [, location] = /location="([^"]*)"/.exec(rest) ?? []
    if (location === undefined) return { scheme }
    const address = new URL(location)
    if (returnTo !== undefined) address.searchParams.set('redirectUrl', returnTo)
    return { scheme, location: address.href }
  })
}
