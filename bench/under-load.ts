import { scratch } from './support/folder.ts'
import { importGenerated } from './support/generated.ts'
import { head, quantile, run } from './support/load.ts'
import { startCarrel } from './support/processes.ts'
import { addPerson, email, logIn, password } from './support/session.ts'

/** How long `status` takes while a whole listing, sorts of 1,000,000 records and 20 password logins run. */
const folder = scratch()
addPerson(folder)
await importGenerated(folder, 1_000_000)
const service = await startCarrel(folder)
const { token, cookie, csrf } = await logIn(service.address)
const status = head('GET', '/api/authn/status', { Authorization: `Bearer ${token}`, Cookie: cookie })
// One after another on one connection: what a person clicking sees.
const ask = (seconds: number) =>
  run({ address: service.address, connections: 1, seconds, next: () => status })

await ask(1)
const alone = await ask(3)
const listing = async () => {
  const response = await fetch(`${service.address}/api/query/v4/generated`)
  for await (const _ of response.body ?? []) {
    // Taken as fast as it comes.
  }
}
const fields = ['code', 'title', 'year', 'weight', 'public', 'place', 'modified', 'note', 'tags']
const sorts = async () => {
  // Each order is a new one, so that none is remembered.
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
const others = Promise.all([listing(), sorts(), logins()])
let done = false
others.then(() => {
  done = true
})
const latencies: number[] = []
while (!done) latencies.push(...(await ask(0.5)).latencies)
const busy = Float64Array.from(latencies).sort()
const show = (sorted: Float64Array) =>
  `median ${quantile(sorted, 0.5).toFixed(2)} ms, p99 ${quantile(sorted, 0.99).toFixed(2)} ms, most ${quantile(sorted, 1).toFixed(1)} ms`
console.log(`status alone: ${show(alone.latencies)}`)
console.log(`status under load: ${show(busy)} (${busy.length} answers)`)
await service.stop()
