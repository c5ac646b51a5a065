import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { identity } from '../support/providers/certificates.ts'
import { atEnd } from '../support/service/at-end.ts'
import { withSpecialGroups } from '../support/service/configuration.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { repository, run } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'
import { configureNginx, nginxProgram, serverForNodes } from './nginx.ts'
import { assertUploadsPass, relayTo, uploadSettings } from './uploads.ts'

const example = (name: string) => readFileSync(join(repository, 'deploy', name), 'utf8')

interface Place {
  readonly folder: string
  readonly port: number
  /** Host and port of Carrel. */
  readonly backend: string
  readonly certificate: string
  readonly key: string
}

interface Product {
  readonly program: string
  /** `http` for an example without TLS, as in the guide for several nodes. */
  readonly scheme?: 'http'
  /** Writes the configuration into the folder. @returns the arguments of the program */
  configure(place: Place): readonly string[]
}

const nginx: Product = {
  program: nginxProgram,
  configure: ({ folder, port, backend, certificate, key }) =>
    configureNginx(
      folder,
      example('nginx.conf')
        .replace('server 127.0.0.1:8080;', `server ${backend};`)
        .replace('listen 443 ', `listen 127.0.0.1:${port} `)
        .replace('/etc/ssl/certs/repo.example.edu.pem', certificate)
        .replace('/etc/ssl/private/repo.example.edu.key', key),
    ),
}

const nginxForNodes: Product = {
  program: nginxProgram,
  scheme: 'http',
  configure: ({ folder, port, backend }) => configureNginx(folder, serverForNodes(port, backend)),
}

const caddy: Product = {
  program: '/usr/bin/caddy',
  configure: ({ folder, port, backend, certificate, key }) => {
    const site = `repo.example.edu:${port} {\n\tbind 127.0.0.1\n\ttls ${certificate} ${key}\n`
    const file = join(folder, 'Caddyfile')
    writeFileSync(
      file,
      example('Caddyfile')
        .replace('repo.example.edu {\n', site)
        .replace('auto_https', 'admin off\n\tauto_https')
        .replace('/server/* 127.0.0.1:8080', `/server/* ${backend}`),
    )
    return ['run', '--config', file, '--adapter', 'caddyfile']
  },
}

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/**
 * Starts the product in front of Carrel. @returns a function that requests over https and accepts any
 * certificate
 */
async function startProxy(t: TestContext, { program, configure, scheme }: Product, address: string) {
  assert.ok(existsSync(program), `${program} is missing; see CONTRIBUTING.md`)
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const { certificate, privateKey } = identity('repo.example.edu')
  const [certificateFile, keyFile] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  writeFileSync(certificateFile, certificate)
  writeFileSync(keyFile, privateKey)
  const port = await freePort()
  const backend = new URL(address).host
  const args = configure({ folder, port, backend, certificate: certificateFile, key: keyFile })
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const ended = once(child, 'exit')
  atEnd(t, async () => {
    child.kill('SIGTERM')
    await ended
  })

  async function ask(
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: string,
  ): Promise<Answer> {
    const host = { host: '127.0.0.1', port, servername: 'repo.example.edu', rejectUnauthorized: false }
    const sent = (scheme === 'http' ? httpRequest : httpsRequest)({
      ...host,
      path,
      method: body === undefined ? 'GET' : 'POST',
      headers: { host: 'repo.example.edu', ...headers },
      agent: false,
    })
    sent.end(body)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    const pieces: Buffer[] = []
    for await (const piece of answer) pieces.push(piece as Buffer)
    return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces).toString() }
  }
  for (;;) {
    assert.equal(child.exitCode, null, complaints)
    if (await ask('/').catch(() => undefined)) return { ask, port }
    await sleep(50)
  }
}

for (const [name, product] of Object.entries({ nginx, caddy })) {
  test(`D3 P1 C2 the example for ${name} serves over https, with links, cookies and addresses as the settings say`, async t => {
    const campus = withSpecialGroups(t, {
      ip: [
        { group: 'Claimed', ranges: ['203.0.113.7'] },
        { group: 'Here', ranges: ['127.0.0.1'] },
      ],
    })
    const service = await startService(t, {
      env: {
        ...campus,
        CARREL_BASE_URL: 'https://repo.example.edu/server',
        CARREL_TRUSTED_PROXIES: '127.0.0.1',
      },
    })
    await service.addEperson('ruth@example.org', { groups: ['Claimed', 'Here'] })
    const { ask, port } = await startProxy(t, product, service.address)

    const root = await ask('/server/api')
    assert.equal(root.status, 200)
    assert.match(root.body, /"https:\/\/repo\.example\.edu\/server\/api\/authn"/)
    assert.match(String(root.headers['strict-transport-security']), /max-age=/)

    const claimed = await ask('/server/api/authn/status', {
      'x-forwarded-for': '203.0.113.7',
      forwarded: 'for=203.0.113.7',
    })
    assert.match(claimed.body, /"Here"/)
    assert.doesNotMatch(claimed.body, /"Claimed"/, 'what a client says of its address is overwritten')

    const csrf = await ask('/server/api/security/csrf')
    const cookie = csrf.headers['set-cookie']?.[0] ?? ''
    assert.match(cookie, /Path=\/server\/api.*; Secure/i)
    const pair = {
      cookie: cookie.split(';')[0] ?? '',
      'x-xsrf-token': String(csrf.headers['dspace-xsrf-token']),
      'content-type': 'application/x-www-form-urlencoded',
    }
    const form = new URLSearchParams({ user: 'ruth@example.org', password: passwordOf('ruth@example.org') })
    const login = await ask('/server/api/authn/login', pair, form.toString())
    assert.equal(login.status, 200, login.body)
    assert.match(String(login.headers.authorization), /^Bearer /)

    const large = await ask('/server/api/authn/login', pair, `user=${'x'.repeat(20_000)}`)
    assert.equal(large.status, 413)
    assert.match(large.body, /problems\//, 'Carrel says so, not the proxy')
    const longToken = await ask('/server/api/authn/status', { authorization: `Bearer ${'x'.repeat(8_100)}` })
    assert.equal(longToken.status, 200, 'a header of more than 8 kB reaches Carrel')

    for (const path of [
      '/server/health/live',
      '/server/%68ealth/ready',
      '/server//health/ready',
      '/server/metrics',
      '/elsewhere',
    ])
      assert.equal((await ask(path)).status, 404, path)

    const plain = await fetch(`http://127.0.0.1:${port}/server/api`, { redirect: 'manual' })
    assert.equal(plain.status, 400, 'http is refused, not redirected')
  })

  test(`D3 Q10 behind the example for ${name}, a listing of 20,000 records arrives whole`, async t => {
    const service = await startService(t, {
      env: { CARREL_BASE_URL: 'https://repo.example.edu/server', CARREL_TRUSTED_PROXIES: '127.0.0.1' },
    })
    const records = Array.from({ length: 20_000 }, (_, id) => ({ id, text: 'x'.repeat(200) }))
    await service.addRecords('letters', 'id', records)
    const { ask } = await startProxy(t, product, service.address)
    const { status, body } = await ask('/server/api/query/v4/letters')
    assert.equal(status, 200)
    assert.equal((JSON.parse(body) as unknown[]).length, records.length)
  })
}

for (const [name, product] of Object.entries({ nginx, 'nginx and several nodes': nginxForNodes, caddy })) {
  test(`D13 I7 UP1 EA7 the example for ${name} passes on uploads of any size that the settings allow`, async t => {
    const scheme = product.scheme ?? 'https'
    const service = await startService(t, {
      env: {
        ...uploadSettings,
        CARREL_BASE_URL: `${scheme}://repo.example.edu/server`,
        CARREL_TRUSTED_PROXIES: '127.0.0.1',
      },
    })
    const { port } = await startProxy(t, product, service.address)
    const origin = scheme === 'http' ? `http://127.0.0.1:${port}` : await relayTo(t, port, 'repo.example.edu')
    await assertUploadsPass(service, `${origin}/server`)
  })
}

test('D3 the unit for systemd is valid, and exposes little', async () => {
  const args = ['security', '--offline=true', '--no-pager', join(repository, 'deploy/carrel.service')]
  const { stdout, stderr } = await run('systemd-analyze', args)
  const level = /Overall exposure level for carrel\.service: ([\d.]+)/.exec(stdout)?.[1]
  assert.ok(Number(level) <= 2, `${level} ${stderr}`)
  const verified = await run('systemd-analyze', ['verify', join(repository, 'deploy/carrel.service')])
  assert.doesNotMatch(verified.stderr, /carrel\.service:\d+: /)
})

test('D3 the unit for several nodes in docs/deployment.md is valid', async t => {
  const guide = readFileSync(join(repository, 'docs/deployment.md'), 'utf8')
  const file = join(temporaryFolder(t), 'carrel@.service')
  writeFileSync(file, /```ini\n([\s\S]*?)```/.exec(guide)?.[1] ?? '')
  const { stderr } = await run('systemd-analyze', ['verify', file.replace('@.', '@8081.')])
  assert.doesNotMatch(stderr, /carrel@[\w]*\.service/)
})
