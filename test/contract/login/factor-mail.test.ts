import assert from 'node:assert/strict'
import { enrolTotp, factorsPath, sendJson } from '../../support/data/factors.ts'
import { startSmtpCatcher } from '../../support/providers/smtp-catcher.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf, startService } from '../../support/service/service.ts'

const [ruth, ada] = ['ruth@example.org', 'ada@example.org']

test('L19 a factor that is added, removed or reset is told to its owner by mail, without secrets', async t => {
  const catcher = await startSmtpCatcher(t)
  const env = { CARREL_SMTP_URL: catcher.url, CARREL_MAIL_FROM: 'Archive <archive@example.edu>' }
  const service = await startService(t, { env: { ...env, CARREL_UI_URL: 'https://ui.example.edu' } })
  const { uuid } = await service.addEperson(ruth)
  const admin = await service.addLoggedIn(ada, { admin: true })
  const client = await service.loggedIn(ruth)
  const byPassword = (email: string) => ({ proof: { password: passwordOf(email) } })
  const added = await enrolTotp(client, byPassword(ruth))
  // A change that is refused is told to nobody.
  assert.equal((await sendJson(client, `${factorsPath}/${added.id}/removal`, { proof: {} })).status, 403)
  const proof = { recovery: added.recoveryCodes?.[0] }
  assert.equal((await sendJson(client, `${factorsPath}/${added.id}/removal`, { proof })).status, 204)
  const again = await enrolTotp(client, byPassword(ruth))
  const reset = `/api/eperson/epersons/${uuid}/factors/reset`
  assert.equal((await sendJson(admin, reset, byPassword(ada))).status, 204)
  await catcher.mail(4)
  // Mails that are sent at once may arrive in any order.
  const texts = catcher.mails.map(({ source }) => source.replaceAll('=\r\n', '')).toSorted()
  for (const said of ['was added to', 'was removed from', 'An administrator has removed all'])
    assert.ok(
      texts.some(text => text.includes(said)),
      said,
    )
  assert.deepEqual(new Set(catcher.mails.flatMap(({ to }) => to)), new Set([ruth]))
  const secrets = [...(added.recoveryCodes ?? []), ...(again.recoveryCodes ?? []), 'My phone']
  for (const text of texts) for (const secret of secrets) assert.ok(!text.includes(secret))
})
