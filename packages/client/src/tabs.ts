/** A message between the tabs of one origin that use the same service. */
export type Message =
  | {
      readonly token: string | undefined
      readonly why: Why
      /** Time in ms by which the service's clock is ahead of this machine's. */
      readonly skew: number
      /** Lifetime of the token in ms. */
      readonly lifetime: number
    }
  | { readonly pair: string }
  | { readonly ask: true }
  /** A marker without content. When it comes back, all messages sent before it have been delivered. */
  | { readonly passed: true }

export type Why = 'login' | 'refresh' | 'logout' | 'expired'

/** A connection to other tabs. Outside of a page, messages go nowhere, and work runs at once. */
export interface Tabs {
  tell(message: Message): void
  /** Runs work in one tab at a time. */
  alone<T>(work: () => Promise<T>): Promise<T>
  close(): void
}

export function openTabs(name: string, hear: (message: Message) => void): Tabs {
  // Node has channels and locks, too, but its threads share no session.
  const isPage = 'location' in globalThis
  const channel = isPage && 'BroadcastChannel' in globalThis ? new BroadcastChannel(name) : undefined
  if (channel) channel.onmessage = event => hear(event.data as Message)
  const locks = isPage ? globalThis.navigator.locks : undefined
  return {
    tell: message => channel?.postMessage(message),
    // Locks exist only in secure contexts.
    alone: async work =>
      locks
        ? locks.request(name, async () => {
            // Messages that have arrived are handled before the work begins. The lock is held until those of
            // the work are delivered.
            await new Promise(resolve => setTimeout(resolve))
            try {
              return await work()
            } finally {
              if (channel) await passed(name, channel)
            }
          })
        : work(),
    close: () => channel?.close(),
  }
}

/** Time in ms after which to go on if a browser does not return messages to the page that sent them. */
const patience = 200

async function passed(name: string, channel: BroadcastChannel): Promise<void> {
  const mirror = new BroadcastChannel(name)
  await new Promise<unknown>(resolve => {
    mirror.onmessage = ({ data }) => 'passed' in (data as Message) && resolve(undefined)
    channel.postMessage({ passed: true } satisfies Message)
    setTimeout(resolve, patience)
  })
  mirror.close()
}
