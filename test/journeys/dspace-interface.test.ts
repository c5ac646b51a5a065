import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { DspaceInterface } from '../support/clients/dspace-interface.ts'
import { addItem, membersOf } from '../support/data/repository.ts'
import { test, testOn } from '../support/service/engines.ts'
import { passwordOf, type Service, startService } from '../support/service/service.ts'

/** A site other than the service's, which shares only what the service allows. */
const origin = 'https://ui.example.net'

async function started(t: TestContext) {
  const service = await startService(t, {
    env: {
      CARREL_BASE_URL: 'https://repo.example.edu/server',
      CARREL_ALLOWED_ORIGINS: origin,
      CARREL_LOGIN_ON_BEHALF_OF: 'true',
    },
  })
  await service.addEperson('admin@example.org', { admin: true })
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  await service.addEperson('max@example.org')
  const { uuid: item, files } = await addItem(service, {
    identifier: '123456789/1',
    files: [
      { name: 'open.txt', content: 'for everybody' },
      { name: 'closed.txt', content: 'for readers', readers: membersOf('Readers') },
    ],
  })
  const open = files.get('open.txt')?.uuid ?? assert.fail('the file is there')
  const closed = files.get('closed.txt')?.uuid ?? assert.fail('the file is there')
  return { service, item, open, closed }
}

async function opened(service: Service): Promise<DspaceInterface> {
  const ui = new DspaceInterface(service, origin)
  await ui.boot()
  return ui
}

async function loggedIn(service: Service, email: string): Promise<DspaceInterface> {
  const ui = await opened(service)
  assert.equal((await ui.logIn(email, passwordOf(email))).status, 200)
  assert.equal(ui.user?.email, email)
  return ui
}

/** Returns the text of a downloaded file. */
async function textOf(downloaded: Awaited<ReturnType<DspaceInterface['download']>>): Promise<string> {
  if (typeof downloaded === 'string') return `went to ${downloaded}`
  const text = await downloaded.text()
  assert.equal(downloaded.status, 200, text)
  return text
}

test('W1 DSpace’s interface boots and shows its home page to an anonymous user', async t => {
  const { service } = await started(t)
  const ui = await opened(service)
  assert.deepEqual(ui.loginMethods, ['password'])
  assert.deepEqual(ui.menu, [])
  await ui.showHome()
  assert.ok(ui.requests.length > 20)
  await assert.rejects(new DspaceInterface(service, 'https://evil.example.net').boot(), /preflight/)
})

test('L2 DSpace’s interface logs in, stays logged in over reloads, refreshes, shows the profile, logs out', async t => {
  const { service } = await started(t)
  const ui = await opened(service)
  const refused = await ui.logIn('ruth@example.org', 'wrong')
  assert.equal(refused.status, 401)
  assert.deepEqual(ui.loginMethods, ['password'])
  assert.equal((await ui.logIn('ruth@example.org', passwordOf('ruth@example.org'))).status, 200)
  await ui.showHome()
  await ui.reload()
  assert.equal(ui.user?.email, 'ruth@example.org')

  const before = ui.token
  await ui.refresh()
  assert.notEqual(ui.token, before)
  await ui.reload()
  assert.equal(ui.user?.email, 'ruth@example.org')
  assert.deepEqual(await ui.profile(), {
    name: 'Test Person',
    mustAgree: false,
    groups: ['Readers'],
    specialGroups: [],
    canChangePassword: true,
  })

  const other = await loggedIn(service, 'ruth@example.org')
  await ui.logOut()
  assert.equal(ui.user, undefined)
  assert.deepEqual(ui.loginMethods, ['password'])
  // T4: the logout applies to every device.
  await other.reload()
  assert.equal(other.user, undefined)
  // Another login, with the CSRF pair from the logout.
  assert.equal((await ui.logIn('ruth@example.org', passwordOf('ruth@example.org'))).status, 200)
})

test('T6 DSpace’s interface changes a password on the profile page, which goes on, and every other page is logged out', async t => {
  const { service } = await started(t)
  const [email, before, after] = ['ruth@example.org', passwordOf('ruth@example.org'), 'quite another one']
  const ui = await loggedIn(service, email)
  const other = await loggedIn(service, email)
  const messageOf = ({ text }: { text: string }) => (JSON.parse(text) as { message: string }).message

  const wrong = await ui.changePassword('not it', after)
  assert.equal(wrong.status, 403)
  assert.equal(messageOf(wrong), 'The current password is wrong.')
  const short = await ui.changePassword(before, 'short')
  assert.equal(short.status, 422)
  assert.match(messageOf(short), /at least 8 characters/)
  await ui.reload()
  assert.equal(ui.user?.email, email)

  const changed = await ui.changePassword(before, after)
  assert.equal(changed.status, 200, changed.text)
  // The page keeps the answer as the eperson that it shows.
  assert.equal((JSON.parse(changed.text) as { uuid: string }).uuid, ui.user?.uuid)
  await ui.reload()
  assert.equal(ui.user?.email, email)
  await other.reload()
  assert.equal(other.user, undefined)
  assert.deepEqual(other.loginMethods, ['password'])
  assert.equal((await ui.logIn(email, before)).status, 401)
  assert.equal((await ui.logIn(email, after)).status, 200)
  assert.equal((await ui.profile()).canChangePassword, true)
})

test('F1 Z1 DSpace’s interface downloads a restricted file for those who may read it', async t => {
  const { service, open, closed } = await started(t)
  const anonymous = await opened(service)
  assert.equal(await textOf(await anonymous.download(open)), 'for everybody')
  assert.equal(await anonymous.download(closed), 'login')

  const ruth = await loggedIn(service, 'ruth@example.org')
  assert.equal(await textOf(await ruth.download(closed)), 'for readers')
  assert.equal(await textOf(await ruth.download(open)), 'for everybody')
  const max = await loggedIn(service, 'max@example.org')
  assert.equal(await max.download(closed), 'forbidden')
})

test('B1 Z1 DSpace’s interface acts on behalf of someone, over reloads and downloads, and stops', async t => {
  const { service, closed } = await started(t)
  const ui = await loggedIn(service, 'admin@example.org')
  await ui.reload()
  assert.deepEqual(ui.menu, ['administratorOf', 'canManageGroups'])
  assert.equal(await ui.impersonate('admin@example.org'), 'no button')
  await ui.impersonate('ruth@example.org')
  assert.equal(ui.user?.email, 'ruth@example.org')
  assert.deepEqual(ui.menu, [])
  await ui.reload()
  await ui.showHome()
  await ui.refresh()
  const { groups, canChangePassword } = await ui.profile()
  assert.deepEqual([groups, canChangePassword], [['Readers'], false])
  assert.equal(await textOf(await ui.download(closed)), 'for readers')

  await ui.stopImpersonating()
  assert.equal(ui.user?.email, 'admin@example.org')
  await ui.impersonate('max@example.org')
  assert.equal(await ui.download(closed), 'forbidden')
  await ui.logOut()
  assert.equal(ui.user, undefined)
})

test('Z1 DSpace’s interface shows an administrator people and groups, and no button that would fail', async t => {
  const { service } = await started(t)
  const ui = await loggedIn(service, 'admin@example.org')
  assert.deepEqual(
    await ui.people(),
    // The last administrator can't be deleted.
    ['admin@example.org', 'max@example.org', 'ruth@example.org'].map(name => ({
      name,
      isDeletable: name !== 'admin@example.org',
    })),
  )
  assert.deepEqual(await ui.people('max'), [{ name: 'max@example.org', isDeletable: true }])
  assert.deepEqual(await ui.groups(), [
    ...['Administrator', 'Readers'].map(name => ({ name, isDeletable: false, members: 1 })),
    // Groups that a policy can name in addition.
    ...['Anonymous', 'Anybody who is logged in'].map(name => ({ name, isDeletable: false, members: 0 })),
  ])
  assert.deepEqual(await ui.groups('read'), [{ name: 'Readers', isDeletable: false, members: 1 }])
  assert.deepEqual(await ui.groups('nothing'), [])
  assert.deepEqual(await ui.group('Readers'), {
    members: ['ruth@example.org'],
    others: ['admin@example.org', 'max@example.org'],
  })
  const ruth = await loggedIn(service, 'ruth@example.org')
  assert.deepEqual(ruth.menu, [])
  await assert.rejects(ruth.groups(), /the page opens/)
})

testOn('sqlite', 'P4 no page of DSpace’s interface waits for an answer that never comes', async t => {
  const { service, item } = await started(t)
  for (const ui of [
    await opened(service),
    await loggedIn(service, 'ruth@example.org'),
    await loggedIn(service, 'admin@example.org'),
  ]) {
    assert.equal((await ui.showItem(item)).uuid, item)
    await ui.showSearch()
    await ui.showProcessesAndSubscriptions()
    assert.equal(await ui.showHandle('123456789/1'), item)
    assert.equal(await ui.showHandle('123456789/2'), undefined)
  }
})
