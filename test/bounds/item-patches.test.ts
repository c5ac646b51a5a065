import assert from 'node:assert/strict'
import { Client } from '../support/clients/client.ts'
import { change } from '../support/data/editing.ts'
import { testOn } from '../support/service/engines.ts'
import { carrel, peakMemory, serve } from '../support/service/process.ts'
import { passwordOf, temporaryFolder } from '../support/service/service.ts'

const email = 'admin@example.org'

testOn(
  'sqlite',
  'I2 a patch that copies a long text a thousand times is refused before it takes memory',
  async t => {
    const dataFolder = temporaryFolder(t)
    const args = ['eperson', 'add', email, '--admin', '--password-stdin']
    assert.equal((await carrel(dataFolder, args, { input: passwordOf(email) })).code, 0)
    const served = await serve(t, dataFolder, { env: { CARREL_WORKERS: '1' } })
    const admin = new Client(served.address)
    await admin.login(email)
    // The character is not Latin-1, so each takes two bytes.
    const value = '魚'.repeat(100_000)
    const item = await change(admin, 'post', '/api/core/items', { metadata: { 'dc.title': [{ value }] } })
    assert.equal(item.status, 201)
    const path = `/api/core/items/${item.body.uuid}`
    const copy = { op: 'copy', from: '/metadata/dc.title/0', path: '/metadata/dc.title/-' }
    const copies = Array.from({ length: 999 }, () => copy)
    assert.equal((await change(admin, 'patch', path, [copy])).status, 200)
    const before = peakMemory(served.pid)
    const answer = await change(admin, 'patch', path, copies)
    const grown = peakMemory(served.pid) - before
    assert.equal(answer.status, 422, JSON.stringify(answer.body))
    assert.match(answer.body.detail, /longer than 1048576 bytes/)
    assert.ok(grown < 100, `${Math.round(grown)} MB`)
  },
)
