/**
 * Time in ms before a process signs with a new secret. Every event loop and every node looks for new secrets
 * once a second, so by then all of them accept it (T7).
 */
const signingDelay = 2_500

interface Secret {
  /** Identifies the secret. */
  readonly id: number | string
  readonly secret: Uint8Array
  /** Age in ms. */
  readonly age: number
}

export interface SigningOrder {
  /** The secret to sign with, then the others that are accepted. */
  current(): readonly Uint8Array[]
  /** @param read the secrets of the store, newest first */
  update(read: readonly Secret[]): void
}

interface Known {
  readonly id: number | string
  readonly secret: Uint8Array
  /** Time from which this process may sign with it, on the clock of performance.now(). */
  readonly signsFrom: number
}

/**
 * Puts the signing secret first. New secrets are accepted, but don't sign until all others have read them.
 */
export function createSigningOrder(): SigningOrder {
  let secrets: readonly Known[] = []
  let current: readonly Uint8Array[] = []
  let timer: NodeJS.Timeout | undefined

  function arrange(): void {
    const now = performance.now()
    const signing = secrets.find(one => one.signsFrom <= now) ?? secrets.at(-1)
    current = secrets.toSorted((a, b) => Number(b === signing) - Number(a === signing)).map(one => one.secret)
    const next = Math.min(...secrets.map(one => one.signsFrom).filter(from => from > now))
    clearTimeout(timer)
    if (Number.isFinite(next)) timer = setTimeout(arrange, Math.ceil(next - now)).unref()
  }

  return {
    current: () => current,
    update: read => {
      const now = performance.now()
      // Keeps the same buffer objects, because derived keys are cached by them.
      secrets = read.map(
        ({ id, secret, age }) =>
          secrets.find(one => one.id === id) ?? {
            id,
            secret,
            // The only secret needs no delay: there is no other to sign with.
            signsFrom: read.length === 1 || age > signingDelay ? now : now + signingDelay,
          },
      )
      arrange()
    },
  }
}
