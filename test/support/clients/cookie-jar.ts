/** Cookies by host, as far as a browser's matter here: name, value, and that they can be taken back. */
export class CookieJar {
  readonly #hosts = new Map<string, Map<string, string>>()

  /** @param url the public address that answered, whatever was really asked */
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

  /** The header `Cookie` for a request there; undefined when there is none to send. */
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
  /** Names in lower case. */
  readonly attributes: ReadonlyMap<string, string>
}

/** One `Set-Cookie` (RFC 6265 §5.2). */
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

/** The cookie of that name that came with the answer. */
export const cookieOf = (answer: Response, name: string | RegExp): Cookie | undefined =>
  answer.headers
    .getSetCookie()
    .map(readCookie)
    .find(cookie => (typeof name === 'string' ? cookie.name === name : name.test(cookie.name)))

/** A cookie of a finished login, which is traded for a token (X2): one for each tab. */
export const tradeCookie = /^(__Host-)?CARREL-SSO-TRADE-/
export const tradeCookieOf = (ticket: string): string => `CARREL-SSO-TRADE-${ticket.slice(0, 8)}`
/** The ticket in it. */
export const ticketIn = (cookies: ReadonlyMap<string, string>): string | undefined =>
  [...cookies].find(([name]) => tradeCookie.test(name))?.[1]
