import { StoreUnavailable } from '../lib/errors.ts'
import type { Client } from '../lib/fair-queue.ts'
import type { QueueMeasures } from '../lib/tally.ts'
import type { Thread, Threads } from '../lib/threads/thread.ts'
import { createLoopQueue, type Limits } from '../model/limits.ts'
import { Refused } from './protocol.ts'
import type { Bounds } from './saml-bounds.ts'
import type { ReadAssertion } from './saml-library.ts'
import type { LogoutMessage, OpenedLogout } from './saml-logout.ts'
import type { Keys } from './saml-signed.ts'
import type { Outcome, SamlThreadHandlers } from './saml-thread.ts'
import type { MessageHead } from './saml-xml.ts'

/** Reads SAML messages in a thread of the service, so that none blocks an event loop (X10). */
export interface SamlMessages {
  /** Runs the work when it is the client's turn. @throws Overloaded if too many are waiting */
  inTurn<T>(client: Client, work: (reader: SamlReader) => Promise<T>): Promise<T>
  /** Signs one of Carrel's messages. It takes no turn, because it answers a message that had one. */
  sign(xml: string, privateKey: string): Promise<string>
  close(): Promise<void>
}

export interface SamlReader {
  /** Reads the head of a message, before anything is verified. @throws Refused */
  head(xml: string, its: Bounds): Promise<MessageHead>
  /** @throws Refused */
  openResponse(xml: string, keys: Keys, audience: string): Promise<ReadAssertion>
  /** @throws Refused if the provider has not signed it */
  openLogout(message: LogoutMessage, keys: Keys): Promise<OpenedLogout>
}

interface Parts {
  readonly threads: Threads
  readonly loops: Limits['loops']
  readonly measures: QueueMeasures
}

/** Maximum number of waiting messages in all event loops together. Each has at most 256 kB. */
const maxWaiting = 128

export function createSamlMessages({ threads, loops, measures }: Parts): SamlMessages {
  // Two run at a time, so that the thread has the next message at hand when it has read one.
  const queue = createLoopQueue(loops().wanted, 2, { maxWaiting, measures })

  let known: Thread<SamlThreadHandlers> | undefined
  function thread(): Thread<SamlThreadHandlers> {
    if (!known || known.hasEnded) known = threads.start<SamlThreadHandlers>('sso/saml-thread', 0, null)
    return known
  }

  const reader: SamlReader = {
    head: (xml, its) => resultOf(thread().call('head', xml, its)),
    openResponse: (xml, keys, audience) => resultOf(thread().call('openResponse', xml, keys, audience)),
    openLogout: (message, keys) => resultOf(thread().call('openLogout', message, keys)),
  }
  return {
    inTurn: (client, work) => queue.run(client, () => work(reader)),
    sign: (xml, privateKey) => inThread(thread().call('sign', xml, privateKey)),
    close: async () => known?.close(),
  }
}

async function resultOf<T>(answer: Promise<Outcome<T>>): Promise<T> {
  const outcome = await inThread(answer)
  if ('refused' in outcome) throw new Refused(outcome.refused)
  return outcome.result
}

/** Replaces the error of a thread that has ended: it says nothing about the store. */
const inThread = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch(error => {
    throw error instanceof StoreUnavailable
      ? new Error('the thread that reads SAML messages has ended', { cause: error })
      : error
  })
