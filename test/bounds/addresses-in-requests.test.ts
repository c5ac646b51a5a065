import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { everything } from '../support/data/every-route.ts'
import { isLong } from '../support/scale.ts'
import { atEnd } from '../support/service/at-end.ts'
import { testOn } from '../support/service/engines.ts'

/** Starts a server that records the requests that a client could make the service send on its behalf. */
async function startTrap(t: TestContext) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.end('{}')
  })
  server.on('connection', () => void asked.push('a connection'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

/** Names of parameters and members that contain addresses, and names in which an attacker might try one. */
const names =
  'url uri href id uuid resource object upload query redirectUrl token return handle owningCollection source callback'

const left = /log(in|out)$|\/events$|\/rotate$/

testOn(
  'sqlite',
  'E5 the service asks no address that a request names, in its body, its parameters or its headers',
  async t => {
    const { origin, asked } = await startTrap(t)
    const { routes, admin, at: addressOf, ids } = await everything(t)
    const addresses = [`${origin}/latest`, `${origin}/api/core/items/${ids.item}`]
    const headersOf = (type: string) => ({
      'content-type': type,
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'x-forwarded-host': new URL(origin).host,
      referer: origin,
    })
    for (const [at, { method, url }] of routes.entries()) {
      if (left.test(url)) continue
      for (const address of isLong ? addresses : addresses.filter((_, n) => n === at % 2)) {
        const parameters = new URLSearchParams(names.split(' ').map(name => [name, address] as const))
        const members = Object.fromEntries(names.split(' ').map(name => [name, address]))
        const reference = `<!DOCTYPE a SYSTEM "${address}"><a href="${address}"/>`
        const bodies = {
          'text/uri-list': address,
          'application/json': JSON.stringify({
            ...members,
            assertion: reference,
            metadata: { 'dc.title': [{ value: address }] },
          }),
          'application/json-patch+json': JSON.stringify([
            { op: 'add', path: '/metadata/dc.title', value: [{ value: address }] },
          ]),
        }
        const sent = method === 'GET' ? [['', undefined] as const] : Object.entries(bodies)
        for (const [type, body] of sent) {
          const response = await admin.request(`${addressOf(url)}?${parameters}`, {
            method,
            headers: {
              ...(method === 'GET' ? {} : headersOf(type)),
              'x-xsrf-token': (await admin.csrfPair()).value,
            },
            ...(body === undefined ? {} : { body }),
          })
          await response.arrayBuffer()
        }
      }
    }
    assert.deepEqual(asked, [])
  },
)
