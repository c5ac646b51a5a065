import type { Schemas } from '@carrel/client'
import { computed, effect, signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { actAs, acting, CarrelProblem, client, service } from './api.ts'
import { loadEntities } from './entities.ts'

/** The eperson who uses the console. */
export interface Eperson {
  readonly uuid: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  /** First and last name, or the email address if both are empty. */
  readonly name: string
  /** The login method of the session. */
  readonly method: string
}

type Who =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'nobody' }
  | { readonly kind: 'eperson'; readonly eperson: Eperson; readonly administrator: boolean }

/**
 * The caller: the eperson of the session, or the one on whose behalf they act. Pages load again when it
 * changes.
 */
export const who = signal<Who>(client.session ? { kind: 'unknown' } : { kind: 'nobody' })
/** Time at which the session ends unless it is renewed, in ms since 1970. */
export const ends = signal<number | undefined>(client.session?.expires?.getTime())

export const eperson = computed(() => (who.value.kind === 'eperson' ? who.value.eperson : undefined))
export const isAdministrator = computed(() => who.value.kind === 'eperson' && who.value.administrator)

/** Asks the service for the caller, and for the entities that they may read. */
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

/** Resumes the session of this browser, or one that a single sign-on has just begun. */
export async function beginSession(): Promise<void> {
  client.onSession((session, why) => {
    ends.value = session?.expires?.getTime()
    // A renewal leaves the eperson as they are. Any other change may come from a login or logout in another
    // tab.
    if (why !== 'refresh') again()
  })
  await tryToBegin()
}

/** The error that keeps the console from knowing the caller. */
export const trouble = signal<unknown>(undefined)

/** Tries to resume the session, at the start and again once the service answers. */
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

/** Logs in. The session listener looks up the eperson, after the requests that waited for this login. */
export const login = (email: string, password: string): Promise<void> => client.login(email, password)

export async function logout(): Promise<void> {
  const { provider } = await client.logout()
  if (provider) location.assign(provider)
}

// Acting on behalf of an eperson changes what can be read, and so does its end.
let before = acting.peek()
effect(() => {
  const now = acting.value
  if (now === before) return
  before = now
  findOut().catch(() => {})
})

/**
 * Returns the seconds left, updated while a component shows them. At the end it asks the service, which may
 * ask for a login.
 */
export function useTimeLeft(): number | undefined {
  const end = ends.value
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    if (end === undefined) return
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [end])
  const left = end === undefined ? undefined : (end - now) / 1000
  const isOver = left !== undefined && left <= 0
  useEffect(() => {
    // The answer tells the client whether another tab renewed the session or a login is needed.
    if (isOver) client.status().catch(() => {})
  }, [isOver])
  return left
}
