import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openBrowser } from '../support/clients/browser.ts'
import { addItem, everybody, membersOf, type StoredItem, titled } from '../support/data/repository.ts'
import { serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { builds, freePort, serveInterface, Walker } from './dspace-interface.ts'

/** What people do at DSpace's interface, as they see it. The service is a process of its own. */

const admin = 'admin@example.org'
const reader = 'reader@example.org'
const curator = 'curator@example.org'

async function start(t: TestContext, folder: string) {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  await own.addEperson(admin, { admin: true })
  await own.addEperson(reader, { groups: ['Readers'] })
  await own.addEperson(curator, { groups: ['Curators'] })
  const item = await addItem(own, {
    identifier: 'letters',
    metadata: titled('Letters from the coast'),
    readers: everybody,
    files: [
      { name: 'open.txt', content: 'open to all' },
      { name: 'restricted.txt', content: 'for readers', readers: membersOf('Readers') },
      {
        name: 'embargoed.txt',
        content: 'not yet',
        readers: [{ reader: 'anonymous', from: '2999-01-01' }],
      },
    ],
  })
  await own.stop()
  const port = await freePort()
  const ui = await serveInterface(t, folder, { host: 'localhost', port, nameSpace: '/server' })
  await serve(t, dataFolder, {
    env: {
      CARREL_PORT: String(port),
      CARREL_BASE_URL: `http://localhost:${port}/server`,
      CARREL_ALLOWED_ORIGINS: ui,
      CARREL_LOGIN_ON_BEHALF_OF: 'true',
    },
  })
  return {
    item,
    /** A person with a browser of their own. */
    person: async () => {
      const context = await openBrowser(t, { width: 1300, height: 1000 })
      await context.addInitScript(
        "localStorage.setItem('klaro', '{}'); document.cookie = 'klaro-anonymous=%7B%22authentication%22%3Atrue%2C%22preferences%22%3Atrue%2C%22acknowledgement%22%3Atrue%2C%22google-analytics%22%3Afalse%7D; path=/'",
      )
      return new Walker(await context.newPage(), ui, `http://localhost:${port}/server`)
    },
  }
}

const fileOf = (item: StoredItem, name: string) => item.files.get(name)?.uuid ?? ''

for (const folder of builds) {
  const name = folder.split('/').at(-3) ?? folder

  test(`Z1 F1 what is open can be read by anybody at DSpace’s interface (${name})`, async t => {
    const { item, person } = await start(t, folder)
    const anybody = await person()
    await anybody.open('/home')
    await anybody.open(`/items/${item.uuid}`)
    await anybody.sees('Letters from the coast', 'open.txt')
    await anybody.open(`/items/${item.uuid}/full`)
    await anybody.sees('dc.title', 'open.txt')
    assert.equal(await anybody.downloads(fileOf(item, 'open.txt')), 'open to all')
    anybody.assertNoFailures()
  })

  test(`L1 F1 a reader logs in, stays so, downloads what they may, and logs out (${name})`, async t => {
    const { item, person } = await start(t, folder)
    const walker = await person()
    await walker.logIn(reader)
    await walker.open(`/items/${item.uuid}/full`)
    await walker.sees('restricted.txt')
    assert.equal(await walker.downloads(fileOf(item, 'restricted.txt')), 'for readers')
    await walker.page.reload()
    await walker.settle()
    assert.equal(await walker.isLoggedIn(), true, 'after a reload')
    await walker.open('/profile')
    await walker.sees(reader, 'Readers')
    assert.equal(await walker.page.locator('input#firstname').inputValue(), 'Test')
    await walker.logOut()
    await walker.open(`/items/${item.uuid}/full`)
    assert.ok(!(await walker.text()).includes('restricted.txt'))
    walker.assertNoFailures()
  })
}
