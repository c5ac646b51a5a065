import { CarrelProblem } from './problem.ts'
import type { TokenStorage } from './storage.ts'
import { type Message, openTabs, type Tabs, type Why } from './tabs.ts'
import type { Send, Transport } from './transport.ts'

/** Somebody is logged in. */
export interface Session {
  /** The UUID of the eperson; nothing for an access token. */
  readonly eperson: string | undefined
  /** When it ends unless it is refreshed, by the clock of this machine; nothing for an access token. */
  readonly expires: Date | undefined
}

export type SessionListener = (session: Session | undefined, why: Why) => void

interface Parts {
  readonly transport: Transport
  readonly storage: TokenStorage
  /** The name of the channel; undefined: other tabs are left alone. */
  readonly channel: string | undefined
  readonly refreshAhead: number
  readonly keepAlive: boolean
  /** Logs in again; false or nothing: it did not. */
  readonly onLoginNeeded: (() => unknown) | undefined
}

const login = '/api/authn/login'
/** How long other tabs may take to say that somebody is logged in, in ms. */
const patience = 150
/** The longest that timers can wait, in ms. */
const longestTimer = 2 ** 31 - 1

/** The token: who has it, when it is renewed, and what other tabs know of it. */
export class Sessions {
  readonly #parts: Parts
  readonly #tabs: Tabs
  readonly #listeners = new Set<SessionListener>()
  /** How far the clock of the service is ahead of ours, in ms. */
  #skew = 0
  /** How long the last token lived that we saw arrive, in ms. */
  #lifetime = Number.POSITIVE_INFINITY
  #refreshing: Promise<void> | undefined
  #loggingIn: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #adopted: (() => void) | undefined
  readonly #woken = () => this.#arm()

  constructor(parts: Parts) {
    this.#parts = parts
    const { channel, transport } = parts
    this.#tabs =
      channel === undefined
        ? { tell: () => {}, alone: work => work(), close: () => {} }
        : openTabs(channel, message => this.#hear(message))
    transport.onPair = pair => this.#tabs.tell({ pair })
    if (parts.keepAlive && 'document' in globalThis)
      document.addEventListener('visibilitychange', this.#woken)
    this.#arm()
  }

  get token(): string | undefined {
    return this.#parts.storage.get() || undefined
  }

  get current(): Session | undefined {
    const { token } = this
    if (token === undefined) return undefined
    const { eid, exp } = claimsOf(token)
    return {
      eperson: eid,
      expires: exp === undefined ? undefined : new Date(exp * 1000 - this.#skew),
    }
  }

  listen(listener: SessionListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** By password, or, without a body, with what a single sign-on has left in a cookie. */
  async logIn(given: Send): Promise<void> {
    const response = await this.#parts.transport.send('POST', login, given)
    this.#keep(response, 'login')
  }

  async logOut(): Promise<Response> {
    const { token } = this
    const response = await this.#parts.transport.send('POST', '/api/authn/logout', {
      headers: bearer(token),
      redirect: 'manual',
    })
    this.change(undefined, 'logout')
    return response
  }

  change(token: string | undefined, why: Why): void {
    this.#set(token, why)
    this.#tell(why)
  }

  #tell(why: Why): void {
    this.#tabs.tell({ token: this.token, why, skew: this.#skew, lifetime: this.#lifetime })
  }

  /** Asks other tabs for the token that they have. */
  async adopt(): Promise<void> {
    if (this.token !== undefined || !('location' in globalThis)) return
    this.#tabs.tell({ ask: true })
    await new Promise<void>(resolve => {
      this.#adopted = resolve
      setTimeout(resolve, patience)
    })
  }

  /**
   * The token to send now: renewed if it ends soon, also when the machine has slept meanwhile.
   * @returns nothing if nobody is logged in
   * @throws CarrelProblem `session-over` for a session that has ended, unless somebody logs in again. Sent with an ended
   *   token, a request would be answered as if nobody were logged in: with a part of the records, and no error.
   */
  async fresh(): Promise<string | undefined> {
    await this.#loggingIn
    const { token } = this
    if (token === undefined) return undefined
    const left = this.#left(token)
    if (left > this.#ahead) return token
    if (left > 0)
      try {
        await this.refresh()
        return this.token
      } catch (error) {
        // The line, or the service, may be back for the next request; this one still has a valid token.
        if (!(error instanceof CarrelProblem && error.status === 401)) return token
      }
    await this.lost(token)
    return this.token
  }

  /** One refresh at a time, for all callers and all tabs. */
  refresh(): Promise<void> {
    const before = this.token
    this.#refreshing ??= this.#tabs
      .alone(async () => {
        // Another tab was faster.
        if (before === undefined || this.token !== before) return
        const response = await this.#parts.transport.send('POST', login, { headers: bearer(before) })
        // Somebody may have logged out meanwhile.
        if (this.token === before) this.#keep(response, 'refresh')
      })
      .finally(() => {
        this.#refreshing = undefined
      })
    return this.#refreshing
  }

  /**
   * The service does not accept this token any more: one login for all who wait.
   * @throws CarrelProblem if there was none
   */
  async lost(token: string): Promise<void> {
    if (this.token !== token && this.token !== undefined) return
    // Those who could have logged in again were asked already.
    if (this.token === undefined && !this.#loggingIn) throw sessionOver()
    this.#loggingIn ??= this.#logInAgain(token).finally(() => {
      this.#loggingIn = undefined
    })
    await this.#loggingIn
  }

  close(): void {
    clearTimeout(this.#timer)
    if ('document' in globalThis) document.removeEventListener('visibilitychange', this.#woken)
    this.#tabs.close()
  }

  async #logInAgain(token: string): Promise<void> {
    await this.#parts.onLoginNeeded?.()
    if (this.token !== undefined && this.token !== token) return
    if (this.token !== undefined) this.change(undefined, 'expired')
    throw sessionOver()
  }

  #keep(response: Response, why: Why): void {
    const [, token] = /^Bearer (\S+)$/.exec(response.headers.get('authorization') ?? '') ?? []
    if (token === undefined) throw new TypeError('The service sent no token that this page may read.')
    const date = Date.parse(response.headers.get('date') ?? '')
    const now = Date.now()
    // The header counts whole seconds. Of another origin, a page doesn't see it, and has to trust its own clock.
    if (!Number.isNaN(date) && Math.abs(date - now) > 2_000) this.#skew = date - now
    this.#lifetime = this.#left(token)
    this.change(token, why)
  }

  #set(token: string | undefined, why: Why): void {
    const { storage } = this.#parts
    if (token === undefined) storage.remove()
    else storage.set(token)
    this.#arm()
    for (const listener of this.#listeners) listener(this.current, why)
  }

  #hear(message: Message): void {
    if ('pair' in message) this.#parts.transport.pair = message.pair
    else if ('token' in message) {
      this.#skew = message.skew
      this.#lifetime = message.lifetime
      this.#set(message.token, message.why)
      this.#adopted?.()
    } else if ('ask' in message && this.token !== undefined) this.#tell('login')
  }

  #left(token: string): number {
    const { exp } = claimsOf(token)
    return exp === undefined ? Number.POSITIVE_INFINITY : exp * 1000 - this.#skew - Date.now()
  }

  /** Before the end by so much: of short lives, a third. */
  get #ahead(): number {
    return Math.min(this.#parts.refreshAhead, this.#lifetime / 3)
  }

  /** Where the session is kept alive, also while nothing is asked. */
  #arm(): void {
    clearTimeout(this.#timer)
    const { token } = this
    if (!this.#parts.keepAlive || token === undefined) return
    const left = this.#left(token)
    if (left === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(
      () => void this.fresh().catch(() => {}),
      Math.min(Math.max(left - this.#ahead, 0), longestTimer),
    )
  }
}

const sessionOver = () =>
  new CarrelProblem({
    status: 401,
    code: 'session-over',
    title: 'The session is over',
    detail: 'The session is over. Log in again.',
  })

export const bearer = (token: string | undefined): Readonly<Record<string, string>> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

/** Claims of a login token. Only the service verifies them; here they tell when to refresh. */
interface Claims {
  readonly eid?: string
  readonly exp?: number
}

/** @returns nothing for a token that is not a JWT, such as an access token */
function claimsOf(token: string): Claims {
  try {
    const [, payload = ''] = token.split('.')
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as Claims
  } catch {
    return {}
  }
}
