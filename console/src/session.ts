import { computed, signal } from '@preact/signals'
import { expiry, hasToken, keep, login as logIn, logout as logOut, read } from './api.ts'
import { loadEntities } from './entities.ts'

/** Who uses the console. */
export interface Eperson {
  readonly uuid: string
  readonly email: string
  readonly name: string
  readonly method: string
}

export type Who =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'nobody' }
  | { readonly kind: 'eperson'; readonly eperson: Eperson; readonly administrator: boolean }

export const who = signal<Who>(hasToken() ? { kind: 'unknown' } : { kind: 'nobody' })
/** When the session ends unless it is refreshed, in milliseconds since 1970. */
export const ends = signal<number | undefined>(expiry())

export const eperson = computed(() => (who.value.kind === 'eperson' ? who.value.eperson : undefined))
export const isAdministrator = computed(() => who.value.kind === 'eperson' && who.value.administrator)

interface Status {
  readonly authenticated: boolean
  readonly authenticationMethod: string | null
  readonly _embedded?: {
    readonly eperson?: {
      readonly uuid: string
      readonly email: string
      readonly metadata: Readonly<Record<string, readonly { readonly value: string }[]>>
    }
  }
}

/** Asks the service, and what is open to them with it. */
export async function findOut(): Promise<void> {
  const known = hasToken() ? await readEperson() : undefined
  if (known === undefined && hasToken()) keep(null)
  ends.value = expiry()
  const list = await loadEntities()
  who.value = known
    ? { kind: 'eperson', eperson: known, administrator: list.some(({ name }) => name === 'epersons') }
    : { kind: 'nobody' }
}

async function readEperson(): Promise<Eperson | undefined> {
  const { _embedded, authenticated, authenticationMethod } = await read<Status>('/api/authn/status')
  const found = _embedded?.eperson
  if (!authenticated || !found) return undefined
  const part = (name: string) => found.metadata[`eperson.${name}`]?.[0]?.value ?? ''
  const name = `${part('firstname')} ${part('lastname')}`.trim() || found.email
  return { uuid: found.uuid, email: found.email, name, method: authenticationMethod ?? '' }
}

export async function login(email: string, password: string): Promise<void> {
  await logIn(email, password)
  await findOut()
}

export async function logout(): Promise<void> {
  await logOut()
  await findOut()
}
