import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { build } from 'rolldown'
import { openApi } from '../../scripts/open-api.ts'
import { commandEvent } from '../../src/cli/store.ts'
import { administrator } from '../support/clients/administrator.ts'
import { environmentWithNode, run } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

/** The versions with which this test was last run, on 2026-11-30. */
const packages = [
  'openapi-typescript@7.13.0',
  'orval@8.38.0',
  '@hey-api/openapi-ts@0.99.0',
  'typescript@5.9.3',
]

const compilerOptions = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
}

/**
 * Uses clients as their documentation says: hey-api is given the token by `auth`, orval in a header. Both list records, and
 * hey-api's writes one and adds a group, with an interceptor for the CSRF pair.
 */
const use = `
import { addGroup, listRecords, putRecord } from './hey/sdk.gen.ts'
import { client } from './hey/client.gen.ts'
import { listRecords as findByOrval } from './orval.ts'
const [address, token, cookie, csrf] = process.argv.slice(2)
const asked = []
client.setConfig({ baseUrl: address, auth: () => token })
client.interceptors.request.use(request => {
  asked.push(request.url)
  request.headers.set('cookie', cookie)
  request.headers.set('x-xsrf-token', csrf)
  return request
})
const path = { entity: 'works' }
const put = await putRecord({ path: { ...path, key: '2' }, body: { id: 2, title: 'Two' } })
const group = await addGroup({ body: { name: 'Readers' } })
const listed = await listRecords({ path })
const plain = globalThis.fetch
globalThis.fetch = (url, init) => plain(new URL(url, address), init)
const byOrval = await findByOrval('works', {}, { headers: { authorization: 'Bearer ' + token } })
console.log(JSON.stringify({
  asked,
  statuses: [put.response.status, group.response.status],
  listed: listed.data,
  byOrval: byOrval.data,
}))`

test('OD1 what openapi-typescript, orval and hey-api make of the document compiles, and their clients list and write', async t => {
  const folder = temporaryFolder(t)
  const inFolder = async (program: string, ...args: readonly string[]) => {
    // With this machine's npm settings, such as a mirror or certificates.
    const { code, stdout, stderr } = await run(program, args, { cwd: folder, env: environmentWithNode() })
    assert.equal(code, 0, `${args.join(' ')}\n${stdout}${stderr}`)
    return stdout
  }
  const program = (...path: readonly string[]) =>
    inFolder(process.execPath, join(folder, 'node_modules', path[0] ?? ''), ...path.slice(1))

  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  await inFolder('npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages)
  writeFileSync(join(folder, 'openapi.json'), await openApi())
  const output = { target: './orval.ts', client: 'fetch', mode: 'single' }
  const config = { carrel: { input: './openapi.json', output } }
  writeFileSync(join(folder, 'orval.config.js'), `export default ${JSON.stringify(config)}`)
  await program('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'types.ts')
  await program('orval/dist/bin/orval.mjs', '--config', 'orval.config.js')
  await program(
    '@hey-api/openapi-ts/bin/run.js',
    '-i',
    'openapi.json',
    '-o',
    'hey',
    '-c',
    '@hey-api/client-fetch',
  )
  const files = ['types.ts', 'orval.ts', 'hey/index.ts']
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  await program('typescript/bin/tsc', '-p', '.')

  const service = await startService(t)
  const { client } = await administrator(service)
  await service.addRecords('works', 'id', [{ id: 1, title: 'One' }])
  await service.storage.entities.changeWriteRule('works', 'admin', commandEvent('entity.writers'))
  const { cookie, value } = await client.csrfPair()
  writeFileSync(join(folder, 'use.ts'), use)
  // Their imports have no extensions, as bundlers take them.
  await build({
    input: join(folder, 'use.ts'),
    output: { file: join(folder, 'use.mjs') },
    logLevel: 'silent',
  })
  const told = await inFolder(process.execPath, 'use.mjs', service.address, client.token ?? '', cookie, value)
  const { asked, statuses, listed, byOrval } = JSON.parse(told) as Used
  assert.deepEqual(statuses, [201, 201])
  for (const records of [listed, byOrval])
    assert.deepEqual(
      records.map(({ id }) => id),
      [1, 2],
    )
  for (const url of asked) assert.doesNotMatch(url, /token/)
})

interface Used {
  readonly asked: readonly string[]
  readonly statuses: readonly number[]
  readonly listed: readonly { readonly id: number }[]
  readonly byOrval: readonly { readonly id: number }[]
}
