import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { openBrowser } from '../support/clients/browser.ts'
import type { RecordedWalk } from '../support/clients/recorded.ts'
import { addInterfaceWorld, worldSettings } from '../support/data/interface-world.ts'
import { type Catcher, startSmtpCatcher } from '../support/providers/smtp-catcher.ts'
import { serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { freePort, keepNotes, serveInterface, Walker } from './dspace-interface.ts'
import { Recorder, writeWalks } from './dspace-recorder.ts'

/** A file in which the interface's requests are recorded; without it, they are not. */
const recording = process.env.DSPACE_RECORDING
const walks: RecordedWalk[] = []
const seen = new Set<string>()
after(() => {
  if (recording !== undefined) writeWalks(recording, walks)
})

export interface Walk {
  readonly walker: Walker
  readonly page: Walker['page']
  /** Returns the UUID of an object that the world has from the beginning. */
  readonly uuidOf: (name: string) => string
  /** True if this build of the interface has the page. */
  readonly has: (page: 'audit' | 'replace') => boolean
  /** The path of the item's page. */
  readonly item: string
  /** The server at which mails arrive. */
  readonly mails: Catcher
}

/**
 * Declares a walk by one person, which asserts at its end that no request was refused.
 *
 * @param isRecorded false if a request works only once, such as one with the token of a mail
 */
export function walk(
  name: string,
  what: string,
  folder: string,
  work: (walk: Walk) => Promise<void>,
  isRecorded = true,
): void {
  const version = folder.split('/').at(-3) ?? folder
  void test(`${name} (${version})`, async t => {
    const { uuids, ui, service, mails } = await start(t, folder, !isRecorded)
    const context = await openBrowser(t, { width: 1300, height: 1000 })
    await context.addInitScript(keepNotes)
    const page = await context.newPage()
    const recorder = new Recorder(`${what}, ${version}`, service, ui, uuids)
    recorder.watch(page)
    const walker = new Walker(page, { name: `${version} ${what}`, origin: ui, service })
    const uuidOf = (one: string) => uuids.get(one) ?? assert.fail(`there is no ${one}`)
    const isNew = !version.includes('9')
    try {
      await work({ walker, page, uuidOf, has: () => isNew, item: `/items/${uuidOf('item')}`, mails })
      walker.assertNoFailures()
    } catch (error) {
      await walker.picture()
      // The cause of a failure is often a refused request.
      if (walker.failures.length > 0) t.diagnostic(JSON.stringify(walker.failures))
      throw error
    } finally {
      const recorded = await recorder.finish(seen)
      if (isRecorded) walks.push(recorded)
    }
  })
}

async function start(t: TestContext, folder: string, sendsMail: boolean) {
  const mails = await startSmtpCatcher(t)
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  const uuids = await addInterfaceWorld(own)
  await own.stop()
  const port = await freePort()
  const ui = await serveInterface(t, folder, { host: 'localhost', port, nameSpace: '/server' })
  const service = `http://localhost:${port}/server`
  await serve(t, dataFolder, {
    env: {
      CARREL_PORT: String(port),
      CARREL_BASE_URL: service,
      CARREL_ALLOWED_ORIGINS: ui,
      ...worldSettings,
      ...(sendsMail && {
        CARREL_SMTP_URL: mails.url,
        CARREL_MAIL_FROM: 'archive@example.edu',
        CARREL_UI_URL: ui,
      }),
    },
  })
  return { uuids, ui, service, mails }
}

export const save = 'ds-form button[type=submit], ds-form button.submit'
