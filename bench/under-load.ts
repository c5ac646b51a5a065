import { scratch } from './support/folder.ts'
import { importGenerated } from './support/generated.ts'
import { head, quantile, run } from './support/load.ts'
import { startCarrel } from './support/processes.ts'
import { addPerson, email, logIn, password } from './support/session.ts'

/**
 * Measures the latency of `status` during a full listing, sorts of 1,000,000 records and 20 password logins.
 */
const folder = scratch()
addPerson(folder)
await importGenerated(folder, 1_000_000)
const service = await startCarrel(folder)
const { token, cookie, csrf } = await logIn(service.address)
const status = head('GET', '/api/authn/status', { Authorization: `Bearer ${token}`, Cookie: cookie })
// One request after another on one connection, as an interactive user would send them.
const ask = (seconds: number) =>
  run({ address: service.address, connections: 1, seconds, next: () => status })

await ask(1)
const alone = await ask(3)
const listing = async () => {
  const response = await fetch(`${service.address}/api/query/v4/generated`)
  for await (const _ of response.body ?? []) {
    // The body is discarded as fast as it arrives.
  }
}
const fields = ['code', 'title', 'year', 'weight', 'public', 'place', 'modified', 'note', 'tags']
const sorts = async () => {
  // Each order is new, so that none is cached.
  for (const [at, field] of fields.entries()) {
    const order = JSON.stringify([{ field, order: 'desc' }, { field: fields[(at + 3) % fields.length] }])
    const response = await fetch(
      `${service.address}/api/query/v4/generated?limit=10&order_by=${encodeURIComponent(order)}`,
    )
    await response.arrayBuffer()
  }
}
const logins = () =>
  Promise.all(
    Array.from({ length: 20 }, () =>
      fetch(`${service.address}/api/authn/login`, {
        method: 'POST',
        headers: { cookie, 'x-xsrf-token': csrf },
        body: new URLSearchParams({ user: email, password }),
      }).then(response => response.arrayBuffer()),
    ),
  )
let done = false
const others = Promise.all([listing(), sorts(), logins()]).finally(() => {
  done = true
})
const latencies: number[] = []
while (!done) latencies.push(...(await ask(0.5)).latencies)
await others
const busy = Float64Array.from(latencies).sort()
const show = (sorted: Float64Array) =>
  `median ${quantile(sorted, 0.5).toFixed(2)} ms, p99 ${quantile(sorted, 0.99).toFixed(2)} ms, max ${quantile(sorted, 1).toFixed(1)} ms`
console.log(`status alone: ${show(alone.latencies)}`)
console.log(`status under load: ${show(busy)} (${busy.length} responses)`)
await service.stop()
