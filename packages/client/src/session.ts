import { CarrelProblem } from './problem.ts'
import type { TokenStorage } from './storage.ts'
import { type Message, openTabs, type Tabs, type Why } from './tabs.ts'
import type { Send, Transport } from './transport.ts'

/** A login, or the use of an access token. */
export interface Session {
  /** The UUID of the eperson; undefined for an access token. */
  readonly eperson: string | undefined
  /** Expiry by the clock of this machine, unless the session is refreshed; undefined for an access token. */
  readonly expires: Date | undefined
}

export type SessionListener = (session: Session | undefined, why: Why) => void

interface Parts {
  readonly transport: Transport
  readonly storage: TokenStorage
  /** The name of the channel to other tabs; undefined if the session is not shared. */
  readonly channel: string | undefined
  readonly refreshAhead: number
  readonly keepAlive: boolean
  /** Called when a new login is needed. It may log in before it returns. */
  readonly onLoginNeeded: (() => unknown) | undefined
}

const login = '/api/authn/login'
/** Time in ms for other tabs to answer that they have a session. */
const patience = 150
/** Maximum delay of a timer in ms. */
const longestTimer = 2 ** 31 - 1

/** The session's token: its storage, its renewal, and its exchange with other tabs. */
export class Sessions {
  readonly #parts: Parts
  readonly #tabs: Tabs
  readonly #listeners = new Set<SessionListener>()
  /** Time in ms by which the service's clock is ahead of this machine's. */
  #skew = 0
  /** Lifetime in ms of the last token received. */
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

  /** Logs in with a password or, without a body, with the cookie of a single sign-on. */
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

  /** Asks other tabs for their token. */
  async adopt(): Promise<void> {
    if (this.token !== undefined || !('location' in globalThis)) return
    this.#tabs.tell({ ask: true })
    await new Promise<void>(resolve => {
      this.#adopted = resolve
      setTimeout(resolve, patience)
    })
  }

  /**
   * Returns the token to send now. It is renewed if it expires soon, which also covers a machine that was
   * asleep.
   *
   * @returns undefined without a session
   * @throws CarrelProblem `session-over` if the session has ended and there was no new login. With an expired
   * token, the service would treat the request as anonymous: part of the records would be missing, without an
   * error.
   */
  async fresh(): Promise<string | undefined> {
    const before = this.token
    await this.#loggingIn
    this.#requireSame(before)
    const { token } = this
    if (token === undefined) return undefined
    const left = this.#left(token)
    if (left > this.#ahead) return token
    if (left > 0)
      try {
        await this.refresh()
        this.#requireSame(token)
        return this.token
      } catch (error) {
        // The connection or the service may recover by the next request; this one still has a valid token.
        if (!(error instanceof CarrelProblem && error.status === 401)) return token
      }
    await this.lost(token)
    return this.token
  }

  /** Refreshes the token, once for all callers and all tabs. */
  refresh(): Promise<void> {
    const before = this.token
    this.#refreshing ??= this.#tabs
      .alone(async () => {
        // Another tab has refreshed it already.
        if (before === undefined || this.token !== before) return
        const response = await this.#parts.transport.send('POST', login, { headers: bearer(before) })
        // The user may have logged out meanwhile.
        if (this.token === before) this.#keep(response, 'refresh')
      })
      .finally(() => {
        this.#refreshing = undefined
      })
    return this.#refreshing
  }

  /**
   * Asks for a new login because the service no longer accepts the token, once for all waiting requests.
   *
   * @throws CarrelProblem if there was no login, or another person's
   */
  async lost(token: string): Promise<void> {
    if (this.token !== token && this.token !== undefined) return this.#requireSame(token)
    // `onLoginNeeded` was called already, without a login.
    if (this.token === undefined && !this.#loggingIn) throw sessionOver()
    this.#loggingIn ??= this.#logInAgain(token).finally(() => {
      this.#loggingIn = undefined
    })
    await this.#loggingIn
    this.#requireSame(token)
  }

  /**
   * Refuses to send a request as another person than the one who began it, or without a login. Access tokens name
   * no person, so they are not compared.
   */
  #requireSame(token: string | undefined): void {
    if (!token) return
    const now = this.token
    if (!now) throw sessionOver()
    const [before, after] = [claimsOf(token).eid, claimsOf(now).eid]
    if (before && after && before !== after) throw sessionOver()
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
    // The header has whole seconds. A page of another origin can't read it and has to trust its own clock.
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

  /** Time in ms before its expiry at which a token is renewed; at most a third of its lifetime. */
  get #ahead(): number {
    return Math.min(this.#parts.refreshAhead, this.#lifetime / 3)
  }

  /** Sets the timer that renews the token if the session is kept alive. */
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

/** Claims of a login token. Only the service verifies them; the client uses them to know when to refresh. */
interface Claims {
  readonly eid?: string
  readonly exp?: number
}

/** @returns no claims for a token that is not a JWT, such as an access token */
function claimsOf(token: string): Claims {
  try {
    const [, payload = ''] = token.split('.')
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as Claims
  } catch {
    return {}
  }
}
