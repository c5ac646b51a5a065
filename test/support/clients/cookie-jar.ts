/** Cookies by host, as far as tests need a browser's behavior: names, values and removal. */
export class CookieJar {
  readonly #hosts = new Map<string, Map<string, string>>()

  /** @param url the public address of the answer, whatever address was really requested */
  keep(url: URL, answer: Response): void {
    const cookies = this.#of(url)
    for (const line of answer.headers.getSetCookie()) {
      const { name, value, attributes } = readCookie(line)
      const maxAge = attributes.get('max-age')
      const expires = attributes.get('expires')
      const isOver =
        maxAge === undefined
          ? expires !== undefined && Date.parse(expires) <= Date.now()
          : Number(maxAge) <= 0
      if (isOver) cookies.delete(name)
      else cookies.set(name, value)
    }
  }

  /**
   * Returns the `Cookie` header for a request to this address, or undefined if there are no cookies for it.
   */
  header(url: URL): string | undefined {
    const pairs = [...this.#of(url)].map(([name, value]) => `${name}=${value}`)
    return pairs.length === 0 ? undefined : pairs.join('; ')
  }

  all(url: URL): ReadonlyMap<string, string> {
    return this.#of(url)
  }

  set(url: URL, name: string, value: string): void {
    this.#of(url).set(name, value)
  }

  remove(url: URL, name: string): void {
    this.#of(url).delete(name)
  }

  #of({ hostname }: URL): Map<string, string> {
    const known = this.#hosts.get(hostname) ?? new Map<string, string>()
    this.#hosts.set(hostname, known)
    return known
  }
}

interface Cookie {
  readonly name: string
  readonly value: string
  /** Attributes by name in lower case. */
  readonly attributes: ReadonlyMap<string, string>
}

/** Parses a `Set-Cookie` header (RFC 6265 §5.2). */
export function readCookie(line: string): Cookie {
  const [[name, value] = ['', ''], ...attributes] = line.split(';').map(part => {
    const at = part.indexOf('=')
    const [key, rest] = at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
    return [key.trim(), rest.trim()] as const
  })
  return {
    name,
    value,
    attributes: new Map(attributes.map(([key, content]) => [key.toLowerCase(), content])),
  }
}

/** Returns the cookie of this name that came with the answer. */
export const cookieOf = (answer: Response, name: string | RegExp): Cookie | undefined =>
  answer.headers
    .getSetCookie()
    .map(readCookie)
    .find(cookie => (typeof name === 'string' ? cookie.name === name : name.test(cookie.name)))

/**
 * Name of the cookie of a finished login, which is exchanged for a token (X2). Each tab has one of its own.
 */
export const tradeCookie = /^(__Host-)?CARREL-SSO-TRADE-/
export const tradeCookieOf = (ticket: string): string => `CARREL-SSO-TRADE-${ticket.slice(0, 8)}`
/** Returns the ticket of a finished login. */
export const ticketIn = (cookies: ReadonlyMap<string, string>): string | undefined =>
  [...cookies].find(([name]) => tradeCookie.test(name))?.[1]
