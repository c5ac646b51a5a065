import { type Load, type Measured, median, run } from './load.ts'
import { processorTime, type Running, startBare } from './processes.ts'

/**
 * A comparison of Carrel with a baseline. They are measured in turns, so that other load on the machine
 * affects both.
 */
export interface Comparison {
  readonly name: string
  readonly service: Running
  readonly rounds?: number
  readonly seconds?: number
  /** By default, a server that only sends the same number of bytes. */
  readonly baseline?: Running
  next(): string
}

export interface Compared {
  readonly ratio: number
  readonly perSecond: number
}

export async function compare({
  name,
  service,
  next,
  rounds = 5,
  seconds = 2,
  baseline: given,
}: Comparison): Promise<Compared> {
  const { address } = service
  const bytes = await meanBytes(address, next)
  const bare = given ?? (await startBare(bytes))
  const load = (at: string, length: number): Promise<Measured> =>
    run({ address: at, seconds: length, next } satisfies Load)
  await load(bare.address, 1)
  await load(address, 1)
  const ratios: number[] = []
  const rates: number[] = []
  let used = 0
  let answered = 0
  for (let round = 0; round < rounds; round++) {
    const baseline = await load(bare.address, seconds)
    const before = processorTime(service.pid)
    const measured = await load(address, seconds)
    used += processorTime(service.pid) - before
    answered += measured.latencies.length
    ratios.push(measured.perSecond / baseline.perSecond)
    rates.push(measured.perSecond)
  }
  if (!given) await bare.stop().catch(() => {})
  const result = { ratio: median(ratios), perSecond: median(rates) }
  console.log(
    `${name}: ${result.ratio.toFixed(2)} of bare (${Math.round(result.perSecond)} per second, body ${bytes} bytes, ` +
      `${((used / answered) * 1e6).toFixed(0)} µs of processor time each, ${rounds} rounds ${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`,
  )
  return result
}

/** Returns the average size of a response body, which the bare server sends too. */
async function meanBytes(address: string, next: () => string): Promise<number> {
  let bytes = 0
  const tries = 50
  for (let at = 0; at < tries; at++) {
    const [line = '', ...lines] = (next().split('\r\n\r\n')[0] ?? '').split('\r\n')
    const [method = 'GET', path = '/'] = line.split(' ')
    const headers = lines
      .map(one => one.split(/: ?(.*)/).slice(0, 2) as [string, string])
      .filter(([name]) => name !== 'Host')
    bytes += (await (await fetch(address + path, { method, headers })).arrayBuffer()).byteLength
  }
  return Math.round(bytes / tries)
}
