/** Where the token is kept. */
export interface TokenStorage {
  get(): string | null | undefined
  set(token: string): void
  remove(): void
}

/**
 * `memory`: a reload logs out, unless another tab is open. `session`: this tab, also after a reload. `local`: all tabs,
 * until the token expires.
 */
export function openStorage(kind: 'memory' | 'session' | 'local', key: string): TokenStorage {
  if (kind !== 'memory') {
    const place = kind === 'local' ? localStorage : sessionStorage
    return {
      get: () => place.getItem(key),
      set: token => place.setItem(key, token),
      remove: () => place.removeItem(key),
    }
  }
  let kept: string | undefined
  return {
    get: () => kept,
    set: token => {
      kept = token
    },
    remove: () => {
      kept = undefined
    },
  }
}
