import { setTimeout as pause } from 'node:timers/promises'
import { Secret, TOTP } from 'otpauth'

/** Length of a time step in ms (RFC 6238). */
const step = 30_000

/** Time in ms that a code needs to arrive at the service while it is still accepted. */
const journey = 12_000

/** An authenticator app on someone's phone. It never shows a code twice, because the service takes each once. */
export class AuthenticatorApp {
  readonly #totp: TOTP
  /** The last step whose code was shown. */
  #last = 0

  constructor(secret: string) {
    this.#totp = new TOTP({ secret: Secret.fromBase32(secret) })
  }

  /** Returns the next code that the service accepts: of the step before, of now, or of the step after. */
  async next(): Promise<string> {
    const at = Math.max(this.#last + 1, Math.floor((Date.now() + journey) / step) - 1)
    const early = (at - 1) * step - Date.now()
    if (early > 0) await pause(early)
    this.#last = at
    return this.#totp.generate({ timestamp: at * step })
  }

  /** Returns a code of a step that is long over. */
  old(): string {
    return this.#totp.generate({ timestamp: Date.now() - 100 * step })
  }
}
