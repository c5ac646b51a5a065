/**
 * Cookies where nobody else keeps them, which is outside of browsers: a browser shows no `Set-Cookie`, so there this stays
 * empty. Each goes to the paths that it is for (RFC 6265 §5.1.4), and only to the service that set it.
 */
export class Cookies {
  readonly #kept = new Map<string, { readonly pair: string; readonly path: string }>()

  keep(headers: Headers): void {
    for (const line of headers.getSetCookie?.() ?? []) {
      const [pair = '', ...attributes] = line.split(/;\s*/)
      const path = attributes.find(one => /^path=/i.test(one))?.slice(5) || '/'
      const name = `${pair.split('=', 1)[0]} ${path}`
      if (attributes.some(one => /^max-age=(0|-.*)$/i.test(one))) this.#kept.delete(name)
      else this.#kept.set(name, { pair, path })
    }
  }

  for(path: string): string {
    return [...this.#kept.values()]
      .filter(one => path === one.path || path.startsWith(one.path.replace(/\/?$/, '/')))
      .map(one => one.pair)
      .join('; ')
  }
}
