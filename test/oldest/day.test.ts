import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '../support/clients/client.ts'
import { newItem, upload } from '../support/data/editing.ts'
import { carrelProcess, serve } from '../support/service/process.ts'
import { passwordOf, temporaryFolder } from '../support/service/service.ts'

const email = 'ruth@example.org'

test('D1 on this Node, everything that people do in a day works: start, login, import, page, question, download, upload, backup', async t => {
  const [dataFolder, folder, restored] = [temporaryFolder(t), temporaryFolder(t), temporaryFolder(t)]
  const command = async (place: string, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await carrelProcess(place, args, { input: passwordOf(email) })
    assert.equal(code, 0, `carrel ${args.join(' ')}: ${stdout}${stderr}`)
  }
  await command(dataFolder, 'eperson', 'add', email, '--admin', '--password-stdin')
  const served = await serve(t, dataFolder, { env: { CARREL_WORKERS: '2' } })
  const client = new Client(served.address)
  await client.login(email)
  assert.ok(await client.isLoggedIn(await client.refresh()))

  const letters = join(folder, 'letters.csv')
  writeFileSync(
    letters,
    `id,title\n${Array.from({ length: 500 }, (_, n) => `${n},letter ${n % 7}`).join('\n')}\n`,
  )
  await command(dataFolder, 'import', letters, '--entity', 'letters', '--key', 'id')
  const ask = async (at: Client, parameters: Readonly<Record<string, string>>) => {
    const response = await at.get(`/api/query/v4/letters?${new URLSearchParams(parameters)}`)
    assert.equal(response.status, 200)
    return { total: response.headers.get('x-records'), records: await response.json() }
  }
  const page = { limit: '1', offset: '498', include_total: 'true', order_by: '[{"field":"id"}]' }
  assert.deepEqual(await ask(client, page), { total: '500', records: [{ id: 498, title: 'letter 1' }] })
  const query =
    '["extract", [["function", "count"], "title"], ["~", "title", "[56]$"], ["group_by", "title"]]'
  const { records } = await ask(client, { query, order_by: '[{"field":"title"}]' })
  assert.deepEqual(records, [
    { count: 71, title: 'letter 5' },
    { count: 71, title: 'letter 6' },
  ])

  const content = 'Dear friend,'
  const file = await upload(client, (await newItem(client)).bundle, { name: 'letter.txt', content })
  assert.equal(file.status, 201)
  const download = `/api/core/bitstreams/${file.body.uuid}/content?authentication-token=`
  await client.withShortLived(async token => {
    const response = await new Client(served.address).get(download + token)
    assert.deepEqual([response.status, await response.text()], [200, content])
  })

  const tus = { 'tus-resumable': '1.0.0' }
  const begun = await client.post('/api/uploads', undefined, { ...tus, 'upload-length': '10' })
  const { pathname } = new URL(begun.headers.get('location') ?? '')
  for (const [offset, piece] of ['01234', '56789'].entries()) {
    const headers = {
      ...tus,
      'content-type': 'application/offset+octet-stream',
      'upload-offset': `${offset * 5}`,
    }
    assert.equal((await client.patch(pathname, piece, headers)).status, 204)
  }

  const backups = join(folder, 'backups')
  await command(dataFolder, 'backup', backups)
  assert.equal((await client.post('/api/authn/logout')).status, 204)
  assert.equal(await client.isLoggedIn(), false)
  assert.equal(await served.stop(), 0)
  await command(restored, 'restore', backups)
  const again = new Client((await serve(t, restored)).address)
  await again.login(email)
  assert.deepEqual(await ask(again, page), { total: '500', records: [{ id: 498, title: 'letter 1' }] })
})
