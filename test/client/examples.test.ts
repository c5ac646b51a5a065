import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Page as Tab } from 'playwright-core'
import { build } from 'vite'
import { assertCount, openBrowser } from '../support/clients/browser.ts'
import { startDemoService } from '../support/data/demo.ts'
import { testOn } from '../support/service/engines.ts'
import { type Page, startFaultyLine } from '../support/service/faulty-line.ts'
import { carrel, cleanEnvironment, repository, run } from '../support/service/process.ts'
import type { Service } from '../support/service/service.ts'

const reader = 'reader@example.org'
const password = 'of the one who reads'

/** Starts a service with the demo data, and a server of pages. */
async function startDemo(t: TestContext, pages: ReadonlyMap<string, Page> = new Map()) {
  const ui = await startFaultyLine(t, () => 'http://127.0.0.1:1', pages)
  const service = await startDemoService(t, { env: { CARREL_ALLOWED_ORIGINS: ui.address } })
  return { service, ui }
}

async function givePassword({ dataFolder }: Service): Promise<void> {
  const args = ['eperson', 'password', reader, '--password-stdin']
  const { code, stderr } = await carrel(dataFolder, args, { input: password })
  assert.equal(code, 0, stderr)
}

const tokenOf = async ({ dataFolder }: Service) => (await carrel(dataFolder, ['token', reader])).stdout.trim()

/** Opens a page in a real browser. Any message to its console fails the test. */
async function openExample(t: TestContext, address: string): Promise<Tab> {
  const tab = await (await openBrowser(t)).newPage()
  const said: string[] = []
  tab.on('pageerror', error => said.push(error.message))
  tab.on('console', message => {
    // The browser itself reports refused requests on the console.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      said.push(message.text())
  })
  t.after(() => assert.deepEqual(said, []))
  await tab.goto(address)
  return tab
}

async function logIn(tab: Tab, secret = password): Promise<void> {
  await tab.getByLabel('E-mail').fill(reader)
  await tab.getByLabel('Password').fill(secret)
  await tab.getByRole('button', { name: 'Log in', exact: true }).click()
}

const isGone = (tab: Tab) => tab.getByRole('button', { name: 'Log in', exact: true }).waitFor()

testOn('sqlite', 'CL13 the types of the examples are those that carrel types writes of the demo', async t => {
  const { service } = await startDemo(t)
  const env = { CARREL_TOKEN: await tokenOf(service) }
  const { code, stdout, stderr } = await carrel(service.dataFolder, ['types', service.address], { env })
  assert.equal(code, 0, stderr)
  assert.equal(
    stdout.replaceAll(service.address, 'http://localhost:8080'),
    readFileSync(join(repository, 'examples/entities.ts'), 'utf8'),
  )
})

testOn('sqlite', 'CL13 the script says from where someone wrote, and reads what it may', async t => {
  const { service } = await startDemo(t)
  const script = (settings: Readonly<Record<string, string>>) =>
    run(process.execPath, ['--conditions=carrel-source', 'examples/node/letters.ts', 'Zoë'], {
      env: cleanEnvironment({ CARREL_URL: service.address, ...settings }),
    })
  const { code, stdout, stderr } = await script({ CARREL_TOKEN: await tokenOf(service) })
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^Leiden: 69 letters, \d{4}–\d{4}\n(.*\n){2}4968 pages by Zoë\n/)
  assert.equal(stdout.match(/that was never written/g)?.length, 3)
  const nobody = await script({})
  assert.deepEqual([nobody.code, nobody.stderr], [0, ''])
  assert.equal(
    nobody.stdout.match(/that was never written/g)?.length,
    1,
    'the file that is open to everybody',
  )
})

testOn(
  'sqlite',
  'CL13 CL15 the page without a build step loads the client from the service, logs in, searches, turns pages and logs out',
  async t => {
    const { service, ui } = await startDemo(
      t,
      new Map<string, Page>([
        [
          '/examples/page/',
          { type: 'text/html', body: readFileSync(join(repository, 'examples/page/index.html')) },
        ],
      ]),
    )
    await givePassword(service)
    const tab = await openExample(t, `${ui.address}/examples/page/?service=${service.address}`)
    await logIn(tab, 'wrong')
    await tab.getByRole('alert').filter({ hasText: 'password is wrong' }).waitFor()
    await logIn(tab)
    await tab.getByText('10000 letters').waitFor()
    await assertCount(tab.getByRole('listitem'), 10)
    await tab.getByRole('button', { name: 'More' }).click()
    await tab.getByRole('listitem').nth(19).waitFor()
    await tab.getByLabel('Words').fill('zoe gott*')
    await tab.getByLabel('Words').press('Enter')
    await tab.getByRole('listitem').filter({ hasText: 'Göttingen' }).first().waitFor()
    await tab.reload()
    await tab.getByText('10000 letters').waitFor()
    await tab.getByRole('button', { name: 'Log out' }).click()
    await isGone(tab)
  },
)

testOn(
  'sqlite',
  'CL13 the page of React and Vite logs in, searches, sorts, turns pages and logs out',
  async t => {
    const root = join(repository, 'examples/react')
    const built = await build({
      root,
      logLevel: 'silent',
      resolve: { conditions: ['carrel-source', 'module', 'browser'] },
      build: { write: false, target: 'es2022' },
    })
    assert.ok('output' in built)
    const types: Readonly<Record<string, string>> = {
      html: 'text/html',
      css: 'text/css',
      js: 'text/javascript',
    }
    const { service, ui } = await startDemo(
      t,
      new Map(
        built.output.map((one): [string, Page] => [
          one.fileName === 'index.html' ? '/' : `/${one.fileName}`,
          {
            type: types[one.fileName.split('.').at(-1) ?? ''] ?? 'text/plain',
            body: 'code' in one ? one.code : one.source,
          },
        ]),
      ),
    )
    await givePassword(service)
    const tab = await openExample(t, `${ui.address}/?service=${service.address}`)
    await logIn(tab, 'wrong')
    await tab.getByRole('alert').filter({ hasText: 'password is wrong' }).waitFor()
    await logIn(tab)
    await tab.getByText('10000 letters').waitFor()
    const rows = tab.locator('tbody tr')
    await assertCount(rows, 20)
    await tab.getByLabel('Words').fill('zoe gott*')
    await rows.first().filter({ hasText: 'Göttingen' }).waitFor()
    const first = await rows.first().innerText()
    await tab.getByRole('button', { name: 'Next' }).click()
    await rows
      .first()
      .filter({ hasNotText: first.split('\t')[0] ?? '' })
      .waitFor()
    await tab.getByRole('button', { name: 'Back' }).click()
    await rows
      .first()
      .filter({ hasText: first.split('\t')[0] ?? '' })
      .waitFor()
    await tab.getByLabel('Sorted by').selectOption('title')
    await rows.first().filter({ hasText: /^Abel/ }).waitFor()
    await tab.reload()
    await tab.getByText('10000 letters').waitFor()
    await tab.getByRole('button', { name: 'Log out' }).click()
    await isGone(tab)
  },
)
