import { CarrelNetworkError, CarrelProblem, type Client, createClient } from '@carrel/client'
import { computed, signal } from '@preact/signals'
import { canBeExact } from './exact.ts'
import { claim, end, ownedOnly, recallInTab, rememberInTab } from './owner.ts'

export type { HalPage } from '@carrel/client'
/** The console's access to the service; this is the only file that creates a client. */
export { CarrelNetworkError, CarrelProblem }

const { query: base = '/api/query/v4', csrf: csrfHeader = 'DSPACE-XSRF-TOKEN' } =
  document.querySelector<HTMLMetaElement>('meta[name="carrel"]')?.dataset ?? {}

export const queryBase = base

/**
 * Set while a login dialog lies over the open page; calling it ends the wait of the requests that need the
 * login.
 */
export const loginAsked = signal<(() => void) | undefined>(undefined)

function askForLogin(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  loginAsked.value = () => {
    loginAsked.value = undefined
    resolve()
  }
  return promise
}

export const client: Client = createClient(new URL('..', document.baseURI).href, {
  storage: 'local',
  queryBase,
  csrfHeader,
  bigint: canBeExact,
  onLoginNeeded: askForLogin,
  beforeRequest: ownedOnly,
})

// Listens before anything else, so that no request of one person is sent with the session of another.
client.onSession((session, why) => {
  if (why === 'logout') end()
  else if (session?.eperson !== undefined) claim(session.eperson)
})
if (client.session?.eperson !== undefined) claim(client.session.eperson)

/**
 * The eperson on whose behalf an administrator acts, and the reason given. It applies to this tab until it is
 * ended.
 */
interface Acting {
  readonly uuid: string
  readonly name: string
  readonly reason: string
}

const key = 'acting'

function recalled(): Acting | undefined {
  try {
    return (JSON.parse(recallInTab(key) ?? 'null') as Acting | null) ?? undefined
  } catch {
    return undefined
  }
}

export const acting = signal<Acting | undefined>(recalled())

export function actAs(person: Acting | undefined): void {
  acting.value = person
  rememberInTab(key, person ? JSON.stringify(person) : null)
}

/**
 * A client that acts on behalf of the chosen eperson if there is one, otherwise as the person logged in.
 * Pages use this client.
 */
export const service = computed((): Client => {
  const person = acting.value
  return person
    ? client.onBehalfOf(person.uuid, person.reason === '' ? {} : { reason: person.reason })
    : client
})
