import assert from 'node:assert/strict'
import { change } from '../support/data/editing.ts'
import { testOn } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

testOn(
  'sqlite',
  'I2 a patch that copies a long text a thousand times is refused before it takes memory',
  async t => {
    const service = await startService(t)
    await service.addEperson('admin@example.org', { admin: true })
    const admin = service.client()
    await admin.login('admin@example.org')
    // Not Latin-1, so that each character takes two bytes.
    const value = '魚'.repeat(100_000)
    const item = await change(admin, 'post', '/api/core/items', { metadata: { 'dc.title': [{ value }] } })
    assert.equal(item.status, 201)
    const path = `/api/core/items/${item.body.uuid}`
    const copy = { op: 'copy', from: '/metadata/dc.title/0', path: '/metadata/dc.title/-' }
    const copies = Array.from({ length: 999 }, () => copy)
    assert.equal((await change(admin, 'patch', path, [copy])).status, 200)
    const before = process.resourceUsage().maxRSS
    const answer = await change(admin, 'patch', path, copies)
    const grown = (process.resourceUsage().maxRSS - before) / 1024
    assert.equal(answer.status, 422, JSON.stringify(answer.body))
    assert.match(answer.body.detail, /longer than 1048576 bytes/)
    assert.ok(grown < 100, `${Math.round(grown)} MB`)
  },
)
