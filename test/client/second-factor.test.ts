import assert from 'node:assert/strict'
import type { Client, Factor, SecondStep } from '../../packages/client/src/index.ts'
import { CarrelProblem } from '../../packages/client/src/index.ts'
import { AuthenticatorApp } from '../support/clients/authenticator-app.ts'
import { ruth, startClientWorld } from '../support/clients/carrel-client.ts'
import { test } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'

const factors = '/api/authn/factors'

/** Enrols an app. @param right a proof, or the ticket of a login */
async function enrol(client: Client, right: object) {
  const anonymous = 'ticket' in right
  const begun = await client.post<{ enrolment: string; secret: string }>(`${factors}/enrolments`, {
    json: { kind: 'totp', name: 'phone', ...right },
    anonymous,
  })
  const app = new AuthenticatorApp(begun.secret)
  const done = await client.post<{ recoveryCodes: readonly string[]; ticket?: string }>(factors, {
    json: { enrolment: begun.enrolment, totp: await app.next() },
    anonymous,
  })
  return { app, ...done }
}

/** Returns the problem of a login that fails. */
const problemOf = (login: Promise<unknown>): Promise<CarrelProblem> =>
  login.then(
    () => assert.fail('it succeeded'),
    error => (error instanceof CarrelProblem ? error : assert.fail(String(error))),
  )

const ticketOf = (problem: CarrelProblem) => String(problem.members.ticket)

test('CL17 the second factor is asked for once, after the right password, and a ticket goes on', async t => {
  const { open, openAs } = await startClientWorld(t)
  const { app, recoveryCodes } = await enrol(await openAs(ruth), { proof: { password: passwordOf(ruth) } })
  const asked: SecondStep['factors'][] = []
  const answering = (answer: () => Factor | undefined | Promise<Factor | undefined>) => ({
    secondFactor: ({ factors }: SecondStep) => {
      asked.push(factors)
      return answer()
    },
  })

  const client = open()
  const wrong = await problemOf(
    client.login(
      ruth,
      'wrong',
      answering(() => ({ totp: '123456' })),
    ),
  )
  assert.deepEqual([wrong.code, asked.length], ['login-failed', 0])
  await client.login(
    ruth,
    passwordOf(ruth),
    answering(async () => ({ totp: await app.next() })),
  )
  assert.deepEqual(asked, [['totp', 'recovery']])
  assert.equal((await client.status())._embedded.eperson?.email, ruth)

  const none = await problemOf(
    open().login(
      ruth,
      passwordOf(ruth),
      answering(() => undefined),
    ),
  )
  const without = await problemOf(open().login(ruth, passwordOf(ruth)))
  assert.deepEqual([none.code, without.code, asked.length], [...Array(2).fill('second-factor-required'), 2])
  const refused = await problemOf(
    open().login(
      ruth,
      passwordOf(ruth),
      answering(() => ({ totp: app.old() })),
    ),
  )
  assert.deepEqual([refused.code, refused.status, asked.length], ['second-factor-required', 401, 3])
  // The password isn't sent again.
  const late = open()
  await late.loginByTicket(ticketOf(refused), { recovery: recoveryCodes[0] ?? '' })
  assert.equal((await late.status()).authenticated, true)
  assert.equal((await problemOf(late.loginByTicket(ticketOf(refused)))).code, 'login-failed')

  // Several requests wait for one login with both steps.
  let times = 0
  const again = open({
    token: 'eyJhbGciOiJIUzI1NiJ9.e30.e30',
    onLoginNeeded: async () => {
      times++
      await again.login(
        ruth,
        passwordOf(ruth),
        answering(() => ({ recovery: recoveryCodes[1] ?? '' })),
      )
    },
  })
  const lists = await Promise.all([1, 2].map(() => again.list('/api/authn/sessions').page(0, 100)))
  assert.deepEqual([lists.every(({ items }) => items.length > 0), times, asked.length], [true, 1, 4])
})

test('CL17 where the setting demands a factor, it is enrolled by the ticket of the login', async t => {
  const { open } = await startClientWorld(t, { CARREL_SECOND_FACTOR: 'everybody' })
  const client = open()
  let asked = 0
  const options = { secondFactor: () => void asked++ }
  const problem = await problemOf(client.login(ruth, passwordOf(ruth), options))
  assert.deepEqual([problem.code, asked, client.session], ['second-factor-enrolment-required', 0, undefined])
  const { ticket } = await enrol(client, { ticket: ticketOf(problem) })
  await client.loginByTicket(ticket ?? '')
  assert.equal((await client.status())._embedded.eperson?.email, ruth)
})
