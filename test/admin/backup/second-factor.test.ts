import assert from 'node:assert/strict'
import { join } from 'node:path'
import { stepLength } from '../../../src/model/factors.ts'
import { assertDone, backUp, emptyPlace, restore } from '../../support/data/backups.ts'
import {
  challenge,
  enrolPasskey,
  enrolTotp,
  origin,
  passwordForm,
  tryLogin,
} from '../../support/data/factors.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { allEngines, test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../../support/service/service.ts'

const env = { CARREL_BASE_URL: origin }

test('L12 L17 D8 a restore brings factors back, no code of its moment, and a reset helps after a lost device', async t => {
  const service = await startService(t, { env })
  await service.addEperson(ruthEmail)
  const ruth = service.client()
  await ruth.login(ruthEmail)
  const app = await enrolTotp(ruth, { proof: { password: passwordOf(ruthEmail) } })
  const [recovery = ''] = app.recoveryCodes ?? []
  const { device } = await enrolPasskey(ruth, { proof: { recovery } })
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  await backUp(service.dataFolder, folder)
  // Used after the backup.
  const code = app.code()
  assert.equal((await tryLogin(ruth, { ...passwordForm(ruthEmail), totp: code })).status, 200)

  for (const engine of allEngines) {
    const place = emptyPlace(t, engine)
    assertDone(await restore(place, folder))
    const copy = await startService(t, { dataFolder: place, env })
    const client = copy.client()
    const logIn = async (fields: Readonly<Record<string, string>>) =>
      (await tryLogin(client, { ...passwordForm(ruthEmail), ...fields })).status
    assert.equal(await logIn({ totp: code }), 401)
    const uuid = (await copy.storage.people.credentials(ruthEmail))?.uuid ?? ''
    const [first] = (await copy.storage.factors.of(uuid)).factors
    const present = Math.floor(Date.now() / stepLength)
    // A slow machine may have left the moment of the restore behind.
    if ((first?.counter ?? 0) >= present + 1) assert.equal(await logIn({ totp: app.code() }), 401)
    const asks = await tryLogin(client, passwordForm(ruthEmail))
    const { ticket } = (await asks.json()) as { ticket: string }
    const webauthn = JSON.stringify(device.get(await challenge(client, { ticket })))
    assert.equal((await tryLogin(client, { ticket, webauthn })).status, 200)

    const list = await carrel(place, ['eperson', 'factors', ruthEmail, '--json'])
    const { factors, recoveryCodes } = JSON.parse(assertDone(list)) as {
      factors: { kind: string }[]
      recoveryCodes: number
    }
    assert.deepEqual([factors.map(({ kind }) => kind), recoveryCodes], [['totp', 'passkey'], 9])
    assert.match(
      assertDone(await carrel(place, ['eperson', 'factors', ruthEmail])),
      /My phone .*\n.*My key .*\nRecovery codes left: 9\n$/,
    )
    assert.equal(
      assertDone(await carrel(place, ['eperson', 'reset-factors', ruthEmail])),
      `Removed 2 second factors of ${ruthEmail}.\n`,
    )
    assert.equal(await logIn({}), 200)
  }
})
