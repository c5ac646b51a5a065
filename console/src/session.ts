import type { Schemas } from '@carrel/client'
import { computed, effect, signal } from '@preact/signals'
import { actAs, acting, CarrelProblem, client, service } from './api.ts'
import { loadEntities } from './entities.ts'

/** Who uses the console. */
export interface Eperson {
  readonly uuid: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  /** Both, or the address where there is none. */
  readonly name: string
  /** How the session began. */
  readonly method: string
}

export type Who =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'nobody' }
  | { readonly kind: 'eperson'; readonly eperson: Eperson; readonly administrator: boolean }

/** The one whose session it is, or the one whom they act for. Pages load again when this changes. */
export const who = signal<Who>(client.session ? { kind: 'unknown' } : { kind: 'nobody' })
/** When the session ends unless it is renewed, in milliseconds since 1970. */
export const ends = signal<number | undefined>(client.session?.expires?.getTime())

export const eperson = computed(() => (who.value.kind === 'eperson' ? who.value.eperson : undefined))
export const isAdministrator = computed(() => who.value.kind === 'eperson' && who.value.administrator)

/** Asks the service who that is, and what is open to them. */
export async function findOut(): Promise<void> {
  const known = client.session ? await readEperson() : undefined
  const list = await loadEntities()
  who.value = known
    ? { kind: 'eperson', eperson: known, administrator: list.some(({ name }) => name === 'epersons') }
    : { kind: 'nobody' }
}

async function readEperson(): Promise<Eperson | undefined> {
  const status = await service.value.get<Schemas['Status']>('/api/authn/status')
  const found = status._embedded.eperson
  if (!status.authenticated || !found) return undefined
  const part = (name: string) => found.metadata[`eperson.${name}`]?.[0]?.value ?? ''
  const [firstName, lastName] = [part('firstname'), part('lastname')]
  const name = `${firstName} ${lastName}`.trim() || found.email
  return {
    uuid: found.uuid,
    email: found.email,
    firstName,
    lastName,
    name,
    method: status.authenticationMethod ?? '',
  }
}

/** At the start of the page: the session that this browser has, or that a single sign-on has just begun. */
export async function beginSession(): Promise<void> {
  client.onSession((session, why) => {
    ends.value = session?.expires?.getTime()
    // Of a renewal nobody else is there; in another tab somebody may have come or gone.
    if (why !== 'refresh') again()
  })
  await tryToBegin()
}

/** Why it isn't known who is here. */
export const trouble = signal<unknown>(undefined)

/** Once more, when the service answers. */
export async function tryToBegin(): Promise<void> {
  trouble.value = undefined
  const comesBack = new URLSearchParams(location.search).has('signed-on')
  try {
    if (comesBack || client.session)
      await client.resume().catch((error: unknown) => {
        if (!(error instanceof CarrelProblem)) throw error
      })
    ends.value = client.session?.expires?.getTime()
    await findOut()
  } catch (error) {
    trouble.value = error
  }
}

function again(): void {
  if (!client.session) {
    actAs(undefined)
    who.value = { kind: 'nobody' }
  }
  findOut().catch(() => {})
}

/** Who that is, the listener finds out: requests that wait for this login go first. */
export const login = (email: string, password: string): Promise<void> => client.login(email, password)

export async function logout(): Promise<void> {
  const { provider } = await client.logout()
  if (provider) location.assign(provider)
}

/** Acting for somebody shows other things than before, and so does its end. */
let before = acting.peek()
effect(() => {
  const now = acting.value
  if (now === before) return
  before = now
  findOut().catch(() => {})
})
