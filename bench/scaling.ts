import { readFileSync } from 'node:fs'
import type { Costs, RequestCost } from './request-costs.ts'
import { type Scenario, simulate } from './support/queueing.ts'

/**
 * Simulates many nodes and one PostgreSQL under many active users, with the measured costs of
 * `bench/request-costs.json`. `node bench/scaling.ts [cores of a node] [cores of the database]`
 */
const costs = JSON.parse(readFileSync(new URL('request-costs.json', import.meta.url), 'utf8')) as Costs
const [nodeCores = 4, databaseCores = 16] = process.argv.slice(2).map(Number)

type Name = keyof Costs['requests']

/**
 * Requests of an active user in an hour: a reader who pages and looks, downloads now and then, stays logged in, and logs in
 * once in two hours.
 */
const perHour: Readonly<Record<Name, number>> = {
  page: 240,
  status: 60,
  refresh: 4,
  shortLived: 12,
  download: 12,
  login: 0.5,
}
/**
 * The cost of a request that an active user sends: minutes after the last one like it, so that it leaves an event.
 * @param load `alone`: no statement is shared, which is the upper bound; `together`: as on a busy node
 */
function costOf(name: Name, load: 'alone' | 'together' = 'alone'): RequestCost {
  const { [load]: cost, alone, first = alone } = costs.requests[name]
  const withEvent = (of: keyof RequestCost) => cost[of] + first[of] - alone[of]
  return {
    ...cost,
    ...{ nodeMicros: withEvent('nodeMicros'), databaseMicros: withEvent('databaseMicros') },
    ...{ writes: withEvent('writes'), walBytes: withEvent('walBytes') },
  }
}
/** Time in ms of a round trip between a node and the database, in one data centre. */
const roundTrip = 0.5

const hourly = Object.entries(perHour) as [Name, number][]
const perUser = hourly.reduce((sum, [, times]) => sum + times, 0) / 3_600
console.log(
  `An active user sends ${perUser.toFixed(3)} requests a second. Nodes have ${nodeCores} processors, PostgreSQL ${databaseCores}.\n` +
    `Costs: ${costs.machine}, ${costs.day}.\n`,
)
console.log('| Nodes | Active users | Requests/s | Nodes busy | Database busy | Writes/s | WAL | p50 | p99 |')
console.log('|---|---|---|---|---|---|---|---|---|')
for (const nodes of [3, 10, 100])
  for (const users of [1_000, 10_000, 100_000, 1_000_000]) {
    const mix = hourly.map(([name, times]) => {
      const { nodeMicros, databaseMicros, reads, writes } = costOf(name)
      return {
        perSecond: (users * times) / 3_600,
        nodeMs: nodeMicros / 1_000,
        databaseMs: databaseMicros / 1_000,
        waits: reads + writes > 0 ? roundTrip : 0,
      }
    })
    const scenario: Scenario = { mix, nodes, nodeCores, databaseCores }
    const total = (of: 'writes' | 'walBytes') =>
      hourly.reduce((sum, [name, times]) => sum + ((users * times) / 3_600) * costOf(name)[of], 0)
    const { nodesBusy, databaseBusy, p50, p99 } = simulate(scenario)
    const share = (value: number) =>
      value >= 1 ? `**${(value * 100).toFixed(0)} %**` : `${(value * 100).toFixed(1)} %`
    const ms = (value: number | undefined) => (value === undefined ? 'never ends' : `${value.toFixed(1)} ms`)
    console.log(
      `| ${nodes} | ${users.toLocaleString('en')} | ${Math.round(users * perUser).toLocaleString('en')} | ${share(nodesBusy)} | ${share(databaseBusy)} | ` +
        `${Math.round(total('writes')).toLocaleString('en')} | ${(total('walBytes') / 1e6).toFixed(1)} MB/s | ${ms(p50)} | ${ms(p99)} |`,
    )
  }

/** A part that can be added, and the processor time in µs that a request takes of it. */
const parts: Readonly<
  Record<string, readonly [cores: number, of: (name: Name, load: 'alone' | 'together') => number]>
> = {
  'a node': [nodeCores, (name, load) => costOf(name, load).nodeMicros],
  PostgreSQL: [databaseCores, (name, load) => costOf(name, load).databaseMicros],
  // The page's own statement goes to the replica; the session is looked up at the primary, as for `status`.
  'PostgreSQL, pages read from a replica': [
    databaseCores,
    (name, load) => costOf(name === 'page' ? 'status' : name, load).databaseMicros,
  ],
}
console.log('\n| Active users at 70 % | no statement shared | as on busy nodes |')
console.log('|---|---|---|')
for (const [part, [cores, of]] of Object.entries(parts)) {
  const users = (load: 'alone' | 'together') => {
    const micros = hourly.reduce((sum, [name, times]) => sum + times * of(name, load), 0) / 3_600
    return (Math.round((0.7 * cores * 1e6) / micros / 1_000) * 1_000).toLocaleString('en')
  }
  console.log(`| ${part} (${cores} processors) | ${users('alone')} | ${users('together')} |`)
}
const shares = hourly.map(
  ([name, times]) => [name, times * costOf(name).nodeMicros, times * costOf(name).databaseMicros] as const,
)
const all = (at: 1 | 2) => shares.reduce((sum, one) => sum + one[at], 0)
console.log('\n| Share of the work | Nodes | Database |')
console.log('|---|---|---|')
for (const [name, node, database] of shares)
  console.log(
    `| ${name} | ${((node / all(1)) * 100).toFixed(0)} % | ${((database / all(2)) * 100).toFixed(0)} % |`,
  )
