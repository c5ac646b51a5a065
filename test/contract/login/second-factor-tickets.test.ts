import assert from 'node:assert/strict'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem, wholeAnswer } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import {
  asked,
  enrolTotp,
  factorsPath,
  origin,
  passwordForm,
  sendJson,
  tryLogin,
} from '../../support/data/factors.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { startDirectory } from '../../support/providers/ldap-directory.ts'
import {
  addressOf,
  entries,
  ruth as person,
  startCampus,
  withDirectory,
} from '../../support/providers/ldap-flow.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { passwordOf, startService } from '../../support/service/service.ts'

const ticketIn = async (answer: Response) => ((await answer.json()) as { ticket: string }).ticket

// PostgreSQL's clock can't be shifted from here.
testOn(
  'sqlite',
  'L12 tickets that follow each other end three minutes after the password, however often a factor is wrong',
  async t => {
    const service = await startService(t, { env: { CARREL_BASE_URL: origin } })
    const ruth = await service.addLoggedIn(ruthEmail)
    await enrolTotp(ruth, { proof: { password: passwordOf(ruthEmail) } })
    const start = Date.now()
    t.mock.timers.enable({ apis: ['Date'], now: start })
    let ticket = await ticketIn(await tryLogin(ruth, passwordForm(ruthEmail)))
    for (const seconds of [100, 170]) {
      t.mock.timers.setTime(start + seconds * 1000)
      const answer = await tryLogin(ruth, { ticket, recovery: 'wrong' })
      assert.equal(answer.status, 401)
      ticket = await ticketIn(answer)
      assert.ok(ticket)
    }
    t.mock.timers.setTime(start + 182_000)
    await assertProblem(await tryLogin(ruth, { ticket, recovery: 'wrong' }), 401, 'login-failed')
  },
)

test('L17 a reset ends the tickets of logins and of enrolments that were under way', async t => {
  const service = await startService(t, {
    env: { CARREL_BASE_URL: origin, CARREL_SECOND_FACTOR: 'everybody' },
  })
  const { uuid } = await service.addEperson(ruthEmail)
  const ruth = service.client()
  const mustEnrol = async () => ticketIn(await tryLogin(ruth, passwordForm(ruthEmail)))
  const ticket = await mustEnrol()
  const begun = await asked<{ enrolment: string; secret: string }>(
    ruth,
    `${factorsPath}/enrolments`,
    { kind: 'totp', name: 'a thief’s', ticket },
    201,
  )
  const app = await enrolTotp(ruth, { ticket: await mustEnrol() })
  await service.storage.factors.reset(uuid, { ...commandEvent('factor.reset'), eperson: uuid })
  await assertProblem(await tryLogin(ruth, { ticket: app.ticket ?? '' }), 401, 'login-failed')
  const { TOTP } = await import('otpauth')
  const totp = new TOTP({ secret: begun.secret }).generate()
  await assertProblem(
    await sendJson(ruth, factorsPath, { enrolment: begun.enrolment, totp }),
    422,
    'factor-refused',
  )
  // A new login enrols a new factor.
  const again = await enrolTotp(ruth, { ticket: await mustEnrol() })
  assert.equal((await tryLogin(ruth, { ticket: again.ticket ?? '' })).status, 200)
})

test('L17 a ticket that has enrolled a factor is used up, and so is the login that it gave, when the factor is gone', async t => {
  const service = await startService(t, {
    env: { CARREL_BASE_URL: origin, CARREL_SECOND_FACTOR: 'everybody' },
  })
  await service.addEperson(ruthEmail)
  const ruth = service.client()
  const ticket = await ticketIn(await tryLogin(ruth, passwordForm(ruthEmail)))
  const app = await enrolTotp(ruth, { ticket })
  const [recovery = '', second = ''] = app.recoveryCodes ?? []
  ruth.token = bearerOf(await tryLogin(ruth, { ...passwordForm(ruthEmail), recovery }))
  const removed = await sendJson(ruth, `${factorsPath}/${app.id}/removal`, { proof: { recovery: second } })
  assert.equal(removed.status, 204)
  await assertProblem(await tryLogin(ruth, { ticket: app.ticket ?? '' }), 401, 'login-failed')
  const again = await sendJson(ruth, `${factorsPath}/enrolments`, { kind: 'totp', name: 'Again', ticket })
  await assertProblem(again, 401, 'login-failed')
})

test('T12 L17 the end of all sessions ends the tickets of a directory’s login, and the enrolments begun with them', async t => {
  const directory = await startDirectory(t, entries)
  const service = await startService(t, {
    env: {
      ...withDirectory(t, [addressOf(directory)]),
      CARREL_SECOND_FACTOR: 'everybody',
      CARREL_SECOND_FACTOR_LOGINS: 'all',
    },
  })
  const client = service.client()
  const mustEnrol = async () =>
    ticketIn(await tryLogin(client, { user: person.user, password: person.password }))
  const ticket = await mustEnrol()
  const wanted = { kind: 'totp', name: 'a stranger’s', ticket }
  const begun = await asked<{ enrolment: string; secret: string }>(
    client,
    `${factorsPath}/enrolments`,
    wanted,
    201,
  )
  const [{ uuid = '' } = {}] = (await service.storage.people.listEpersons()).filter(
    ({ email }) => email === person.email,
  )
  await service.storage.sessions.logout(uuid, { ...commandEvent('session.end', 'all'), eperson: uuid })
  await assertProblem(await sendJson(client, `${factorsPath}/enrolments`, wanted), 401, 'login-failed')
  const { TOTP } = await import('otpauth')
  const finished = { enrolment: begun.enrolment, totp: new TOTP({ secret: begun.secret }).generate() }
  await assertProblem(await sendJson(client, factorsPath, finished), 422, 'factor-refused')
  assert.deepEqual((await service.storage.factors.of(uuid)).factors, [])
  await enrolTotp(client, { ticket: await mustEnrol() })
})

test('L5 beside a directory, a malformed factor does not tell which names have a password here', async t => {
  const { service } = await startCampus(t)
  await service.addEperson(ruthEmail)
  const client = service.client()
  const answers = await Promise.all(
    [ruthEmail, 'nobody@example.org'].map(async user =>
      wholeAnswer(await tryLogin(client, { user, password: 'wrong password', webauthn: 'no JSON' })),
    ),
  )
  assert.deepEqual(answers[0], answers[1])
})
