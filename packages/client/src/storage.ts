/** Where the token is kept. */
export interface TokenStorage {
  get(): string | null | undefined
  set(token: string): void
  remove(): void
}

/**
 * `memory`: a reload logs out, unless another tab is open. `session`: this tab, also after a reload. `local`: all tabs,
 * until the token expires. Without the storage of the engine, the token is in memory.
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

/** @returns undefined where there is none, as in Node 24, or where the browser denies it, as with cookies blocked */
function webStorage(kind: 'session' | 'local'): Storage | undefined {
  try {
    return kind === 'local' ? localStorage : sessionStorage
  } catch {
    return undefined
  }
}
