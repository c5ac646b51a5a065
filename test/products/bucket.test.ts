import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertDone, emptyPlace } from '../support/data/backups.ts'
import { contentOf, everybody, putItem } from '../support/data/repository.ts'
import { atEnd } from '../support/service/at-end.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { carrel, run } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { cephPackages, startCeph } from './ceph.ts'
import { needPackages } from './packages.ts'

test('F8 D8 files move into a bucket of Ceph, are served, backed up from bucket to bucket, and restored', async t => {
  await needPackages(...cephPackages)
  const ceph = await startCeph(temporaryFolder(t, 'sqlite'), [await freePort(), await freePort()])
  atEnd(t, ceph.stop)
  process.env.AWS_ACCESS_KEY_ID = ceph.accessKeyId
  process.env.AWS_SECRET_ACCESS_KEY = ceph.secretAccessKey
  for (const bucket of ['carrel', 'backups']) {
    const user = `${ceph.accessKeyId}:${ceph.secretAccessKey}`
    const signed = [
      '-H',
      'x-amz-content-sha256: UNSIGNED-PAYLOAD',
      '--aws-sigv4',
      'aws:amz:us-east-1:s3',
      '--user',
      user,
    ]
    assertDone(await run('curl', ['-sSf', '-X', 'PUT', ...signed, `${ceph.address}/${bucket}`]))
  }
  const server = { CARREL_FILES_ENDPOINT: ceph.address }
  const old = { ...server, CARREL_FILES: join(temporaryFolder(t, 'sqlite'), 'files') }
  const env = { ...server, CARREL_FILES: 's3://carrel/archive' }
  const before = await startService(t, { env: old })
  const content = randomBytes(12_000_000)
  const item = await putItem(before, 'a/1', everybody, [
    { name: 'large', content },
    { name: 'small', content: randomBytes(10) },
  ])
  const { dataFolder } = before
  const command = async (
    args: readonly string[],
    settings: Readonly<Record<string, string>>,
    place = dataFolder,
  ) => assertDone(await carrel(place, args, { env: settings }))
  await command(['files', 'move', '--to', env.CARREL_FILES], old)
  await command(['files', 'move', '--from', old.CARREL_FILES, '--remove'], env)
  assert.match(await command(['files', 'verify'], env), /^2 files read .*: all intact/)
  await command(['backup', 's3://backups/carrel'], env)
  await command(['backup', 's3://backups/carrel', '--keep', '1'], env)
  assert.match(await command(['backup', 'verify', 's3://backups/carrel'], env), /: intact, 2 files/)
  const place = emptyPlace(t, 'sqlite')
  const restored = { ...server, CARREL_FILES: 's3://carrel/restored' }
  await command(['restore', 's3://backups/carrel'], restored, place)
  for (const service of [
    await startService(t, { env, dataFolder }),
    await startService(t, { env: restored, dataFolder: place }),
  ]) {
    const [large] = item.bitstreams
    assert.ok(large)
    const response = await service.client().get(contentOf(large))
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(content))
    const range = await service.client().get(contentOf(large), { range: 'bytes=6000000-6000009' })
    assert.ok(Buffer.from(await range.arrayBuffer()).equals(content.subarray(6_000_000, 6_000_010)))
  }
})
