/** What the tabs of one origin tell each other about a service. */
export type Message =
  | { readonly token: string | undefined; readonly why: Why }
  | { readonly pair: string }
  | { readonly ask: true }

export type Why = 'login' | 'refresh' | 'logout' | 'expired'

/** Other tabs, where there are any; elsewhere nobody is told, and whoever asks is alone. */
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
    // Locks are there in secure contexts only. What a tab has heard by then is handled before the work begins.
    alone: async work =>
      locks
        ? locks.request(name, async () => {
            await new Promise(resolve => setTimeout(resolve))
            return work()
          })
        : work(),
    close: () => channel?.close(),
  }
}
