import { carrel } from './processes.ts'

/** A logged-in eperson's token, cookies and CSRF token. */
export interface Person {
  readonly token: string
  readonly cookie: string
  readonly csrf: string
}

export const email = 'bench@example.org'
export const password = 'a password for measuring'

export const addPerson = (dataFolder: string, admin = false): void =>
  addPersonBy((args, input) => carrel(dataFolder, args, input), admin)

/** @param run runs a command of Carrel */
export function addPersonBy(run: (args: readonly string[], input: string) => void, admin = false): void {
  run(['eperson', 'add', email, '--password-stdin', ...(admin ? ['--admin'] : [])], password)
}

export async function logIn(address: string, user = email): Promise<Person> {
  const pair = await fetch(`${address}/api/security/csrf`)
  const csrf = pair.headers.get('dspace-xsrf-token') ?? ''
  const cookie = pair.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const response = await fetch(`${address}/api/authn/login`, {
    method: 'POST',
    headers: { cookie, 'x-xsrf-token': csrf },
    body: new URLSearchParams({ user, password }),
  })
  if (response.status !== 200) throw new Error(await response.text())
  return { token: (response.headers.get('authorization') ?? '').replace('Bearer ', ''), cookie, csrf }
}
