/** What a login token says. It is for the service alone to believe: here it only tells when to refresh. */
interface Claims {
  readonly eid?: string
  readonly exp?: number
}

/** @returns nothing for a token that is not a JWT, such as an access token */
export function claimsOf(token: string): Claims {
  try {
    const [, payload = ''] = token.split('.')
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as Claims
  } catch {
    return {}
  }
}
