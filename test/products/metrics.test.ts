import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { scraper } from '../support/clients/metrics.ts'
import { atEnd } from '../support/service/at-end.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { repository, run, serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/**
 * Settings and headers for metrics (D5), which a real Prometheus and a real nginx read. They are from
 * Debian's packages prometheus and nginx.
 */
const { headers, env } = scraper
const docs = (name: string) => join(repository, 'docs', name)
const guide = readFileSync(docs('how-to/monitor.md'), 'utf8')
const blockOf = (language: string) =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1] ?? ''

async function startProgram(t: TestContext, program: string, args: readonly string[], ready: string) {
  const child: ChildProcess = spawn(program, args, { stdio: 'ignore' })
  const exited = once(child, 'exit')
  atEnd(t, async () => {
    child.kill('SIGTERM')
    await exited
  })
  await until(`an answer of ${program}`, () => fetch(ready))
}

test('D5 promtool accepts the text', async t => {
  const service = await startService(t, { env })
  await service.addEperson('ruth@example.org')
  const client = service.client()
  await client.login('ruth@example.org')
  await client.tryLogin('ruth@example.org', 'wrong')
  await fetch(`${service.address}/nowhere`)
  const input = await (await fetch(`${service.address}/metrics`, { headers })).text()
  const checked = await run('promtool', ['check', 'metrics'], { input })
  assert.deepEqual(checked, { code: 0, stdout: '', stderr: '' })
})

test('D5 promtool accepts the alert rules, and every query of the dashboard', async t => {
  const { code, stdout, stderr } = await run('promtool', ['check', 'rules', docs('alerts.yml')])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /SUCCESS: \d+ rules found/)
  const dashboard = JSON.parse(readFileSync(docs('grafana.json'), 'utf8')) as {
    readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[]
  }
  const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  assert.ok(queries.length > 20)
  const rules = queries.map((query, at) => ({
    record: `panel:query${at}`,
    // Values that Grafana would insert.
    expr: query.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
  }))
  const file = join(temporaryFolder(t), 'queries.yml')
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
  const checked = await run('promtool', ['check', 'rules', file])
  assert.equal(checked.code, 0, checked.stdout + checked.stderr)
})

test('D5 Prometheus reads two workers with the configuration of the guide', async t => {
  const folder = temporaryFolder(t)
  const served = await serve(t, temporaryFolder(t), { env: { ...env, CARREL_WORKERS: '2' } })
  const config = join(folder, 'prometheus.yml')
  writeFileSync(join(folder, 'carrel.secret'), env.CARREL_METRICS_SECRET)
  const given = blockOf('yaml')
    .replace('127.0.0.1:8080', new URL(served.address).host)
    .replaceAll('/etc/prometheus/carrel.secret', join(folder, 'carrel.secret'))
    .replaceAll('/etc/prometheus/carrel-alerts.yml', docs('alerts.yml'))
  writeFileSync(config, `global: { scrape_interval: 1s }\n${given}`)
  const checked = await run('promtool', ['check', 'config', config])
  assert.equal(checked.code, 0, checked.stdout + checked.stderr)
  const address = `127.0.0.1:${await freePort()}`
  const args = [
    `--config.file=${config}`,
    `--web.listen-address=${address}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
  ]
  await startProgram(t, 'prometheus', args, `http://${address}/-/ready`)
  const valueOfQuery = async (query: string) => {
    const answer = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`)
    if (answer.status !== 200) return undefined
    const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } }
    return data.result[0]?.value[1]
  }
  await until(
    'a scrape',
    () => valueOfQuery('up{job="carrel"}'),
    value => value === '1',
  )
  assert.equal(await valueOfQuery('carrel_workers_running'), '2')
})

test('D5 nginx in front opens the metrics to nobody, not even when it says nothing of itself', async t => {
  const folder = temporaryFolder(t)
  // Default settings of `carrel serve`, and a proxy that adds no header.
  const served = await serve(t, temporaryFolder(t), {
    env: { ...env, CARREL_BASE_URL: 'https://repo.example.edu' },
  })
  const ports = [await freePort(), await freePort()] as const
  const server = (port: number, block: string) => `
    server {
        listen 127.0.0.1:${port};
${block}
        location / { proxy_pass ${served.address}; }
    }`
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const config = join(folder, 'nginx.conf')
  writeFileSync(
    config,
    `daemon off;
pid ${folder}/nginx.pid;
events {}
http {
    access_log off;
    ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join('\n    ')}
${server(ports[0], '')}
${server(ports[1], blockOf('nginx'))}
}
`,
  )
  const [plain, guided] = ports.map(port => `http://127.0.0.1:${port}`)
  await startProgram(t, '/usr/sbin/nginx', ['-c', config, '-e', join(folder, 'error.log')], `${plain}/api`)
  const statusOf = async (url: string, given = {}) => (await fetch(url, { headers: given })).status
  assert.equal(await statusOf(`${plain}/api`), 200)
  assert.equal(await statusOf(`${plain}/metrics`), 401)
  assert.equal(await statusOf(`${plain}/server/metrics`), 401)
  assert.equal(await statusOf(`${plain}/metrics`, headers), 200)
  for (const path of ['/metrics', '/metrics/', '/server/metrics', '/metrics?a=b'])
    assert.equal(await statusOf(guided + path, headers), 404, path)
  assert.equal(await statusOf(`${guided}/api`), 200)
})
