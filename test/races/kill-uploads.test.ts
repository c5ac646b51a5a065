import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Client } from '../support/clients/client.ts'
import { newItem, read, upload } from '../support/data/editing.ts'
import { repeats } from '../support/scale.ts'
import { testOnOne } from '../support/service/engines.ts'
import { carrel, serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

const admin = 'root@example.org'
const rounds = repeats(1, 10)

// The file is stored before the row, whichever engine has the row.
testOnOne(
  'I7 D4 SIGKILL while files are sent loses no file that was acknowledged, and no row is without its file',
  async t => {
    const dataFolder = temporaryFolder(t)
    let item: Awaited<ReturnType<typeof newItem>> | undefined
    await t.test('prepare', async prepare => {
      const service = await startService(prepare, { dataFolder })
      await service.addEperson(admin, { admin: true })
      const client = service.client()
      await client.login(admin)
      item = await newItem(client)
    })
    const { bundle = '' } = item ?? {}
    /** The SHA-256 of each file that was acknowledged with 201, by its UUID. */
    const told = new Map<string, string>()

    async function keepSending(client: Client, name: string, acknowledge: () => void): Promise<void> {
      try {
        for (let n = 0; ; n++) {
          const content = Buffer.alloc(100_000 + 300_000 * (n % 4), `${name} ${n} `)
          const sent = await upload(client, bundle, { name: `${name} ${n}`, content })
          assert.equal(sent.status, 201, JSON.stringify(sent.body))
          told.set(sent.body.uuid, createHash('sha256').update(content).digest('hex'))
          acknowledge()
        }
      } catch (error) {
        // A broken connection is the end; any other error is a fault.
        if (!(error instanceof TypeError && /fetch failed|terminated/.test(error.message))) throw error
      }
    }

    for (let round = 0; round < rounds; round++) {
      const served = await serve(t, dataFolder, { env: { CARREL_WORKERS: '2' } })
      const clients = Array.from({ length: 4 }, () => new Client(served.address))
      for (const client of clients) await client.login(admin)
      const wanted = told.size + 5 + round
      const sending = clients.map((client, n) =>
        keepSending(client, `${round}.${n}`, () => {
          if (told.size >= wanted) served.signal('SIGKILL')
        }),
      )
      await Promise.all(sending)
      await served.ended
    }

    const served = await serve(t, dataFolder)
    const client = new Client(served.address)
    await client.login(admin)
    const files =
      (await read(client, `/api/core/bundles/${bundle}/bitstreams?size=1000`))._embedded.bitstreams ?? []
    const kept = new Set(files.map(({ uuid }) => uuid))
    for (const uuid of told.keys()) assert.ok(kept.has(uuid), 'what was acknowledged is there')
    for (const { uuid, checkSum, sizeBytes } of files) {
      const response = await client.get(`/api/core/bitstreams/${uuid}/content`)
      const content = Buffer.from(await response.arrayBuffer())
      assert.deepEqual([response.status, content.length], [200, sizeBytes])
      const sum = createHash('sha256').update(content).digest('hex')
      assert.equal(sum, checkSum.value)
      assert.equal(told.get(uuid) ?? sum, sum)
    }
    const verified = await carrel(dataFolder, ['files', 'verify'])
    assert.equal(verified.code, 0, verified.stdout + verified.stderr)
  },
)
