/** What the tabs of one origin tell each other about a service. */
export type Message =
  | {
      readonly token: string | undefined
      readonly why: Why
      /** How far the clock of the service is ahead of this machine's, in ms. */
      readonly skew: number
      /** How long tokens live, in ms. */
      readonly lifetime: number
    }
  | { readonly pair: string }
  | { readonly ask: true }
  /** Nothing: a message that comes back has passed all that were told before it. */
  | { readonly passed: true }

export type Why = 'login' | 'refresh' | 'logout' | 'expired'

/** Other tabs, where there are any; elsewhere nobody is told, and all work is done at once. */
export interface Tabs {
  tell(message: Message): void
  /** Work that one tab does at a time. */
  alone<T>(work: () => Promise<T>): Promise<T>
  close(): void
}

export function openTabs(name: string, hear: (message: Message) => void): Tabs {
  // Node has channels and locks, too, but one process shares no session with another thread by itself.
  const isPage = 'location' in globalThis
  const channel = isPage && 'BroadcastChannel' in globalThis ? new BroadcastChannel(name) : undefined
  if (channel) channel.onmessage = event => hear(event.data as Message)
  const locks = isPage ? globalThis.navigator.locks : undefined
  return {
    tell: message => channel?.postMessage(message),
    // Locks are there in secure contexts only.
    alone: async work =>
      locks
        ? locks.request(name, async () => {
            // What has been heard by now is handled before the work begins, and who comes next will have heard of it.
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

/** In ms, for browsers that don't bring messages back to the page that sent them. */
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
