import assert from 'node:assert/strict'
import {
  challenge,
  enrolPasskey,
  enrolTotp,
  origin,
  passwordForm,
  tryLogin,
} from '../support/data/factors.ts'
import { ruthEmail } from '../support/data/ruth.ts'
import { testOn } from '../support/service/engines.ts'
import { startNodes } from '../support/service/nodes.ts'
import { passwordOf } from '../support/service/service.ts'

testOn('postgres', 'L12 L14 a code, a ticket and an answer of a passkey work once on two nodes', async t => {
  const { nodes } = await startNodes(t, 2, { env: { CARREL_BASE_URL: origin } })
  const clients = nodes.map(node => node.client())
  const [ruth] = clients
  assert.ok(ruth)
  await nodes[0]?.addEperson(ruthEmail)
  await ruth.login(ruthEmail)
  const app = await enrolTotp(ruth, { proof: { password: passwordOf(ruthEmail) } })
  const { device } = await enrolPasskey(ruth, { proof: { totp: app.code() } })
  const onBoth = async (fields: Readonly<Record<string, string>>) =>
    (await Promise.all(clients.map(client => tryLogin(client, fields))))
      .map(({ status }) => status)
      .toSorted()
  const ticket = async () => {
    const asks = await tryLogin(ruth, passwordForm(ruthEmail))
    return ((await asks.json()) as { ticket: string }).ticket
  }

  assert.deepEqual(await onBoth({ ...passwordForm(ruthEmail), totp: app.code(1) }), [200, 401])
  const [recovery = '', other = ''] = app.recoveryCodes ?? []
  assert.deepEqual(await onBoth({ ...passwordForm(ruthEmail), recovery }), [200, 401])
  assert.deepEqual(await onBoth({ ticket: await ticket(), recovery: other }), [200, 401])
  const answer = JSON.stringify(device.get(await challenge(ruth, { ticket: await ticket() })))
  assert.deepEqual(await onBoth({ ...passwordForm(ruthEmail), webauthn: answer }), [200, 401])
})
