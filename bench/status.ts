import { compare } from './support/compare.ts'
import { scratch } from './support/folder.ts'
import { head } from './support/load.ts'
import { startCarrel } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/** Compares `GET status` with a valid token, and a refresh, with a bare server. */
const folder = scratch()
addPerson(folder)
const carrel = await startCarrel(folder)
const { token, cookie, csrf } = await logIn(carrel.address)

const status = head('GET', '/api/authn/status', { Authorization: `Bearer ${token}`, Cookie: cookie })
await compare({ name: 'status', service: carrel, next: () => status })

const withoutCookie = head('GET', '/api/authn/status', { Authorization: `Bearer ${token}` })
await compare({ name: 'status without the CSRF cookie', service: carrel, next: () => withoutCookie })

const refresh = head('POST', '/api/authn/login', {
  Authorization: `Bearer ${token}`,
  Cookie: cookie,
  'X-XSRF-TOKEN': csrf,
  'Content-Length': '0',
})
await compare({ name: 'refresh', service: carrel, next: () => refresh })
await carrel.stop()
