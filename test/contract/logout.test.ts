import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../support/service.ts'

test('T4 logout ends every token of the user', async t => {
  const service = await startService(t)
  await service.addEperson('ruth@example.org')
  const phone = service.client()
  const laptop = service.client()
  const tokens = [await phone.login('ruth@example.org'), await laptop.login('ruth@example.org')]
  for (const token of tokens) assert.equal(await phone.isLoggedIn(token), true)

  assert.equal((await phone.post('/api/authn/logout')).status, 204)
  for (const token of tokens) assert.equal(await laptop.isLoggedIn(token), false)
})
