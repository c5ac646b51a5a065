import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratch } from './support/folder.ts'
import { head, median, quantile, run } from './support/load.ts'
import { carrel, startCarrel } from './support/processes.ts'
import { email, logIn, password } from './support/session.ts'
import { quote } from './support/wrk.ts'

/**
 * Floods the service with wrong logins over 200 connections (wrk), from one network and from many. Measures
 * the effect on `status` and on the logins of a person in another network, in turns with and without the
 * flood.
 */
const rounds = 5
const seconds = 6
const [home, attacker] = ['192.0.2.7', '198.51.100.20']

const folder = scratch()
carrel(folder, ['eperson', 'add', email, '--password-stdin'], password)
const service = await startCarrel(folder, { CARREL_TRUSTED_PROXIES: '127.0.0.1' })
const { cookie, csrf } = await logIn(service.address)
const headers = {
  cookie,
  'x-xsrf-token': csrf,
  'content-type': 'application/x-www-form-urlencoded',
}

/** Logs in once with the right password. @returns the time in ms and the status */
async function login(): Promise<readonly [time: number, status: number]> {
  const start = performance.now()
  const response = await fetch(`${service.address}/api/authn/login`, {
    method: 'POST',
    headers: { ...headers, 'x-forwarded-for': home },
    body: new URLSearchParams({ user: email, password }).toString(),
  })
  await response.arrayBuffer()
  return [performance.now() - start, response.status]
}

/** Logs in repeatedly, while another connection asks for `status`. */
async function measure() {
  const times: number[] = []
  const statuses: number[] = []
  const end = performance.now() + seconds * 1000
  const status = run({
    address: service.address,
    connections: 1,
    seconds,
    next: () => head('GET', '/api/authn/status', { cookie }),
  })
  while (performance.now() < end) {
    const [time, code] = await login()
    times.push(time)
    statuses.push(code)
  }
  return { times, refused: statuses.filter(code => code !== 200).length, status: (await status).latencies }
}

/**
 * @param from a Lua expression for the address of the next guess @returns a summary of the answers once the
 * flood has ended
 */
function flood(from: string): Promise<string> {
  const script = join(folder, 'flood.lua')
  writeFileSync(
    script,
    `math.randomseed(os.time())
     wrk.method = 'POST'
     wrk.headers = {${Object.entries(headers)
       .map(([name, value]) => `[${quote(name)}]=${quote(value)}`)
       .join(', ')}}
     request = function()
       wrk.headers['x-forwarded-for'] = ${from}
       return wrk.format(nil, '/api/authn/login', nil, 'user=someone' .. math.random(1000000) .. '%40example.org&password=guess')
     end
     local threads = {}
     function setup(thread) table.insert(threads, thread) end
     function init() counts = {} end
     function response(status) counts[status] = (counts[status] or 0) + 1 end
     function done()
       for _, thread in ipairs(threads) do
         for status, count in pairs(thread:get('counts')) do io.write(status .. ': ' .. count .. '  ') end
       end
     end`,
  )
  const child = spawn('wrk', ['-t1', '-c200', `-d${seconds}s`, '-s', script, service.address])
  let out = ''
  child.stdout.on('data', chunk => {
    out += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('error', () => reject(new Error('this measurement needs wrk: apt-get install wrk')))
    child.once('exit', () => resolve(/(\d{3}: \d+ *)+/.exec(out)?.[0].trim() ?? out))
  })
}

for (const [name, from] of [
  ['one network', quote(attacker)],
  ['any number of networks', `'10.' .. math.random(0, 255) .. '.' .. math.random(0, 255) .. '.1'`],
] as const) {
  const ratios: number[] = []
  const p99: number[] = []
  for (let round = 0; round < rounds; round++) {
    const alone = await measure()
    const flooding = flood(from)
    const beside = await measure()
    const answered = await flooding
    const ratio = median(beside.times) / median(alone.times)
    ratios.push(ratio)
    p99.push(quantile(beside.status, 0.99))
    console.log(
      `${name}: a login takes ${median(alone.times).toFixed(0)} ms alone, ${median(beside.times).toFixed(0)} ms beside the flood; ` +
        `${beside.refused} of ${beside.times.length} refused; status p99 ${quantile(alone.status, 0.99).toFixed(1)} and ` +
        `${quantile(beside.status, 0.99).toFixed(1)} ms; the flood got ${answered}`,
    )
  }
  console.log(
    `${name}: ${median(ratios).toFixed(2)} of the usual time (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}), ` +
      `status p99 ${median(p99).toFixed(1)} ms (${Math.min(...p99).toFixed(1)}–${Math.max(...p99).toFixed(1)})`,
  )
}
await service.stop()
