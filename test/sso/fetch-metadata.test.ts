import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { fetchMetadata } from '../../src/sso/metadata/fetch.ts'
import { startMetadataServer } from '../support/providers/federation-flow.ts'

test('X11 metadata that is read late is whole, even if its response was collected as garbage', async t => {
  const server = await startMetadataServer(t)
  server.files.set('/all.xml', { body: '<all/>' })
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const fetched = await fetchMetadata(`${server.address}/all.xml`, {}, AbortSignal.timeout(60_000))
  assert.equal(fetched.kind, 'fresh')
  for (let turns = 0; turns < 5; turns++) {
    await sleep(10)
    collect()
  }
  const texts: string[] = []
  for await (const chunk of fetched.body) texts.push(Buffer.from(chunk).toString())
  assert.equal(texts.join(''), '<all/>')
})
