import { randomBytes } from 'node:crypto'
import { commandEvent } from '../src/cli/store.ts'
import { eventHash, eventRow, nothingBefore, trailKey } from '../src/model/trail.ts'
import { scratch } from './support/folder.ts'
import { head, median, run } from './support/load.ts'
import { processorTime, startCarrel } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Compares the processor time of sealing and hashing an audit event (D9) with that of the whole refresh that
 * records it.
 */
const key = trailKey(randomBytes(32))
const event = {
  ...commandEvent('refresh'),
  eperson: crypto.randomUUID(),
  clientIp: '192.0.2.1',
  method: 'password',
}

function hashing(count: number): number {
  const start = process.cpuUsage()
  let before: Uint8Array = nothingBefore
  for (let id = 1; id <= count; id++)
    before = eventHash(before, id, key.seal(eventRow(event, new Date().toISOString(), 2 ** 52, id)))
  const { user, system } = process.cpuUsage(start)
  return (user + system) / count
}

const folder = scratch()
addPerson(folder)
const service = await startCarrel(folder)
const { token, cookie, csrf } = await logIn(service.address)
const refresh = head('POST', '/api/authn/login', {
  Authorization: `Bearer ${token}`,
  Cookie: cookie,
  'X-XSRF-TOKEN': csrf,
  'Content-Length': '0',
})
const load = () => run({ address: service.address, seconds: 2, next: () => refresh })

hashing(20_000)
await load()
const rounds = 5
const costs: { readonly hash: number; readonly refresh: number }[] = []
for (let round = 0; round < rounds; round++) {
  const hash = hashing(100_000)
  const before = processorTime(service.pid)
  const { latencies } = await load()
  costs.push({ hash, refresh: ((processorTime(service.pid) - before) / latencies.length) * 1e6 })
}
await service.stop()
const shares = costs.map(({ hash, refresh }) => hash / refresh)
console.log(
  `a hash: ${median(costs.map(({ hash }) => hash)).toFixed(1)} µs, ${(median(shares) * 100).toFixed(1)} % of a refresh ` +
    `(${median(costs.map(({ refresh }) => refresh)).toFixed(0)} µs), ${rounds} rounds ` +
    `${(Math.min(...shares) * 100).toFixed(1)}–${(Math.max(...shares) * 100).toFixed(1)} %`,
)
