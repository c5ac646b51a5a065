import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { identity } from '../test/support/providers/certificates.ts'
import { memberXml } from '../test/support/providers/federation.ts'
import { inflated, responseXml, signed } from '../test/support/providers/saml-forge.ts'
import { writeFederation } from './support/federation.ts'
import { scratch } from './support/folder.ts'
import { memory, startCarrel } from './support/processes.ts'

/**
 * Reloads a federation's signed metadata of 59 MB and 9,000 entities while people log in. Measures the delay
 * of the event loops, the logins, and the memory before and after: first with one configured identity
 * provider, then with all of them.
 */
const [federation, idp] = [identity('federation'), identity('idp')]
const entityId = 'https://idp.example.edu/idp'
const folder = scratch()
const metadata = join(folder, 'federation.xml')
const size = await writeFederation(
  metadata,
  [memberXml({ entityId, certificate: idp.certificate, scopes: ['example.edu'], name: 'Ours' })],
  8_999,
  federation,
)
console.log(`metadata of 9,000 identity providers: ${(size / 1e6).toFixed(1)} MB, signed`)
writeFileSync(join(folder, 'federation.pem'), federation.certificate)

/**
 * A script that reports the delays of each listening event loop since the file `busy` last appeared or
 * disappeared.
 */
const probe = join(folder, 'probe.cjs')
writeFileSync(
  probe,
  `const { monitorEventLoopDelay } = require('node:perf_hooks')
   const { existsSync, writeFileSync } = require('node:fs')
   const { threadId } = require('node:worker_threads')
   const { Server } = require('node:net')
   const { listen } = Server.prototype
   Server.prototype.listen = function (...args) {
     const delays = monitorEventLoopDelay({ resolution: 1 })
     delays.enable()
     let own = 0
     let last = process.threadCpuUsage()
     setInterval(() => {
       const used = process.threadCpuUsage(last)
       last = process.threadCpuUsage()
       own = Math.max(own, (used.user + used.system) / 1e3)
     }, 1).unref()
     let known = ''
     setInterval(() => {
       const phase = existsSync(${JSON.stringify(join(folder, 'busy'))}) ? 'busy' : 'idle'
       if (phase !== known) { delays.reset(); own = 0 }
       known = phase
       writeFileSync(${JSON.stringify(folder)} + '/' + phase + '-' + threadId + '.json', JSON.stringify({ max: delays.max / 1e6, p99: delays.percentile(99) / 1e6, own }))
     }, 100).unref()
     return listen.apply(this, args)
   }`,
)

const settings = { metadata, metadataCertificate: 'federation.pem' }
await measure('one identity provider of it', { ...settings, entityId })
await measure('the same, in two entries', { ...settings, entityId }, { ...settings, entityId })
await measure('all of them, as a federation', { ...settings, federation: {} })

async function measure(name: string, ...entries: readonly object[]): Promise<void> {
  const config = join(folder, 'carrel.json')
  const providers = entries.map((entry, at) => ({ id: `uni${at}`, kind: 'saml', create: true, ...entry }))
  writeFileSync(config, JSON.stringify({ singleSignOn: { providers } }))
  const data = join(folder, 'data')
  rmSync(data, { recursive: true, force: true })
  const service = await startCarrel(data, {
    CARREL_CONFIG: config,
    CARREL_LOG_LEVEL: 'error',
    NODE_OPTIONS: `--require=${probe}`,
  })
  const more = 'federation' in (entries[0] ?? {}) ? { entityID: entityId } : {}
  for (let at = 0; at < 20; at++) await logIn(service.address, more)
  await delay(3_000)
  const before = memory(service.pid).now

  const quiet = await delayDuring(() => delay(6_000))
  // The start of a login triggers the reload; then the loops have nothing else to do.
  const reading = await delayDuring(async () => {
    change()
    await begin(service.address, more)
    await delay(10_000)
  })
  const idle = await logins(service.address, more, 3_000)
  const start = performance.now()
  change()
  const during = await logins(service.address, more, 12_000)
  const peak = memory(service.pid).peak
  await delay(Math.max(0, 30_000 - (performance.now() - start)))
  const after = memory(service.pid).now
  console.log(
    `${name}:\n  event loops while it is read: delay ${reading} (otherwise ${quiet})\n  logins: ${during.length}, none failed, median ${middle(during)} ms, max ${Math.max(...during).toFixed(0)} ms (before: median ${middle(idle)}, max ${Math.max(...idle).toFixed(0)} ms)\n  memory: ${before.toFixed(0)} MB before, peak ${peak.toFixed(0)}, ${after.toFixed(0)} MB half a minute later`,
  )
  await service.stop()
}

/** Makes the service reload the metadata, which it does if the time of change differs. */
function change(): void {
  utimesSync(metadata, new Date(), new Date())
}

/** Returns the delays during some work, the worst of all event loops. */
async function delayDuring(work: () => Promise<void>): Promise<string> {
  writeFileSync(join(folder, 'busy'), '')
  await delay(300)
  await work()
  await delay(300)
  const [max, p99, own] = ['max', 'p99', 'own'].map(key => worst(key).toFixed(1))
  rmSync(join(folder, 'busy'))
  await delay(300)
  // On a busy machine, a loop also waits for a processor, so its own work is shown separately.
  return `p99 ${p99} ms, max ${max} ms, of which its own work at most ${own} ms`
}

function worst(key: string): number {
  const values = Array.from({ length: 40 }, (_, thread) => {
    try {
      const all = JSON.parse(readFileSync(join(folder, `busy-${thread}.json`), 'utf8')) as Record<
        string,
        number
      >
      return all[key] ?? 0
    } catch {
      return 0
    }
  })
  return Math.max(...values)
}

function middle(times: readonly number[]): string {
  return (times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0).toFixed(0)
}

async function logins(
  address: string,
  more: Record<string, string>,
  milliseconds: number,
): Promise<number[]> {
  const times: number[] = []
  for (const end = performance.now() + milliseconds; performance.now() < end; await delay(20)) {
    const begun = performance.now()
    await logIn(address, more)
    times.push(performance.now() - begun)
  }
  return times
}

/** Starts a login and returns the redirect to the identity provider. @throws Error if there is none */
async function begin(address: string, more: Readonly<Record<string, string>>): Promise<Response> {
  const query = new URLSearchParams({ redirectUrl: `${baseOf(address)}/`, provider: 'uni0', ...more })
  const begun = await fetch(`${address}/api/authn/shibboleth?${query}`, { redirect: 'manual' })
  if (begun.status !== 303) throw new Error(`start: ${begun.status} ${await begun.text()}`)
  return begun
}

function baseOf(address: string): string {
  return `http://localhost:${new URL(address).port}`
}

/** Logs in up to the redirect with the cookie that POST login exchanges. @throws Error if the login fails */
async function logIn(address: string, more: Readonly<Record<string, string>>): Promise<void> {
  const begun = await begin(address, more)
  const location = begun.headers.get('location') ?? ''
  const { searchParams } = new URL(location)
  const id = /\sID="([^"]+)"/.exec(inflated(searchParams.get('SAMLRequest') ?? ''))?.[1] ?? ''
  const own = `${baseOf(address)}/api/authn/sso/saml`
  const xml = responseXml({
    issuer: entityId,
    audience: `${own}/metadata`,
    destination: `${own}/acs`,
    recipient: `${own}/acs`,
    inResponseTo: id,
    nameId: 'ruth',
    attributes: { 'urn:oid:0.9.2342.19200300.100.1.3': 'ruth@example.edu' },
  })
  const ended = await fetch(`${address}/api/authn/sso/saml/acs`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      cookie: begun.headers
        .getSetCookie()
        .map(one => one.replace(/;.*/, ''))
        .join('; '),
    },
    body: new URLSearchParams({
      SAMLResponse: Buffer.from(signed(xml, { element: 'Assertion', identity: idp })).toString('base64'),
      RelayState: searchParams.get('RelayState') ?? '',
    }),
  })
  if (ended.status !== 303) throw new Error(`login: ${ended.status} ${await ended.text()}`)
}
