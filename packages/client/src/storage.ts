/** A storage for the token. */
export interface TokenStorage {
  get(): string | null | undefined
  set(token: string): void
  remove(): void
}

/**
 * Opens a storage. With `memory`, a reload logs out unless another tab is open. `session` keeps the token for
 * the tab, also across a reload, and `local` for all tabs until it expires. Where the engine has no such
 * storage, the token is kept in memory.
 */
export function openStorage(kind: 'memory' | 'session' | 'local', key: string): TokenStorage {
  const place = kind === 'memory' ? undefined : webStorage(kind)
  if (place)
    return {
      get: () => place.getItem(key),
      set: token => place.setItem(key, token),
      remove: () => place.removeItem(key),
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

/**
 * @returns undefined if there is no storage, as in Node 24, or if the browser denies it, as with cookies
 * blocked
 */
function webStorage(kind: 'session' | 'local'): Storage | undefined {
  try {
    return kind === 'local' ? localStorage : sessionStorage
  } catch {
    return undefined
  }
}
