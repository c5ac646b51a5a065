import { readFileSync } from 'node:fs'
import type { Costs } from './request-costs.ts'
import { type Scenario, simulate } from './support/queueing.ts'

/**
 * Simulates many nodes and one PostgreSQL under many active users, with the measured costs of
 * `bench/request-costs.json`. `node bench/scaling.ts [cores of a node] [cores of the database]`
 */
const costs = JSON.parse(readFileSync(new URL('request-costs.json', import.meta.url), 'utf8')) as Costs
const [nodeCores = 4, databaseCores = 16] = process.argv.slice(2).map(Number)

/**
 * Requests of an active user in an hour: a reader who pages and looks, downloads now and then, stays logged in, and logs in
 * once in two hours.
 */
const perHour: Readonly<Record<keyof Costs['requests'], number>> = {
  page: 240,
  status: 60,
  refresh: 4,
  shortLived: 12,
  download: 12,
  login: 0.5,
}
const costOf = (name: string) => costs.requests[name as keyof Costs['requests']].alone
/** Time in ms of a round trip between a node and the database, in one data centre. */
const roundTrip = 0.5

const perUser = Object.values(perHour).reduce((sum, one) => sum + one) / 3_600
console.log(
  `An active user sends ${perUser.toFixed(3)} requests a second. Nodes have ${nodeCores} processors, PostgreSQL ${databaseCores}.\n` +
    `Costs: ${costs.machine}, ${costs.day}.\n`,
)
console.log('| Nodes | Active users | Requests/s | Nodes busy | Database busy | Writes/s | WAL | p50 | p99 |')
console.log('|---|---|---|---|---|---|---|---|---|')
for (const nodes of [3, 10, 100])
  for (const users of [1_000, 10_000, 100_000, 1_000_000]) {
    const mix = Object.entries(perHour).map(([name, hourly]) => {
      const { nodeMicros, databaseMicros, reads, writes } = costOf(name)
      return {
        perSecond: (users * hourly) / 3_600,
        nodeMs: nodeMicros / 1_000,
        databaseMs: databaseMicros / 1_000,
        waits: reads + writes > 0 ? roundTrip : 0,
      }
    })
    const scenario: Scenario = { mix, nodes, nodeCores, databaseCores }
    const total = (of: 'writes' | 'walBytes') =>
      Object.entries(perHour).reduce(
        (sum, [name, hourly]) => sum + ((users * hourly) / 3_600) * costOf(name)[of],
        0,
      )
    const { nodesBusy, databaseBusy, p50, p99 } = simulate(scenario)
    const share = (value: number) =>
      value >= 1 ? `**${(value * 100).toFixed(0)} %**` : `${(value * 100).toFixed(1)} %`
    const ms = (value: number | undefined) => (value === undefined ? 'never ends' : `${value.toFixed(1)} ms`)
    console.log(
      `| ${nodes} | ${users.toLocaleString('en')} | ${Math.round(users * perUser).toLocaleString('en')} | ${share(nodesBusy)} | ${share(databaseBusy)} | ` +
        `${Math.round(total('writes')).toLocaleString('en')} | ${(total('walBytes') / 1e6).toFixed(1)} MB/s | ${ms(p50)} | ${ms(p99)} |`,
    )
  }
