import { CarrelNetworkError, CarrelProblem, type Client, createClient } from '@carrel/client'
import { computed, signal } from '@preact/signals'
import { canBeExact } from './exact.ts'

export type { HalPage } from '@carrel/client'
/** How the service is reached: the only file that makes a client. */
export { CarrelNetworkError, CarrelProblem }

const { query: queryBase = '/api/query/v4', csrf: csrfHeader = 'DSPACE-XSRF-TOKEN' } =
  document.querySelector<HTMLMetaElement>('meta[name="carrel"]')?.dataset ?? {}

/** Somebody is asked to log in again, over the page that is open: requests that wait go on then, or are given up. */
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
})

/** Whom an administrator acts as, and why. It holds for this tab, until it is ended. */
export interface Acting {
  readonly uuid: string
  readonly name: string
  readonly reason: string
}

const key = 'carrel.acting'

function recalled(): Acting | undefined {
  try {
    const text = sessionStorage.getItem(key)
    return text === null ? undefined : (JSON.parse(text) as Acting)
  } catch {
    return undefined
  }
}

export const acting = signal<Acting | undefined>(recalled())

export function actAs(person: Acting | undefined): void {
  acting.value = person
  try {
    if (person) sessionStorage.setItem(key, JSON.stringify(person))
    else sessionStorage.removeItem(key)
  } catch {
    // Then it ends with the page.
  }
}

/** The service as who is at the desk sees it, or as the one they act for. Pages ask this one. */
export const service = computed((): Client => {
  const person = acting.value
  return person
    ? client.onBehalfOf(person.uuid, person.reason === '' ? {} : { reason: person.reason })
    : client
})
