import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import {
  administrator,
  assertAccessible,
  assertFits,
  button,
  openArchive,
  openDesk,
  settled,
  takePicture,
} from '../support/clients/console.ts'
import { film } from '../support/data/film.ts'
import { addItem, everybody, titled } from '../support/data/repository.ts'
import { introduce, signIn, withSaml } from '../support/providers/saml-flow.ts'
import { attributeNames, person, startSamlProvider } from '../support/providers/saml-provider.ts'
import { isLong } from '../support/scale.ts'
import { testOn } from '../support/service/engines.ts'

testOn('sqlite', 'CO5 film is played in place, by parts, and what can’t be played is said', async t => {
  const { service, desk, page } = await openArchive(t, { as: null })
  const item = await addItem(service, {
    identifier: 'archive/film',
    metadata: titled('A film'),
    readers: everybody,
    files: [
      { name: 'field.webm', content: film, mimeType: 'video/webm' },
      { name: 'damaged.mp4', content: 'no film at all', mimeType: 'video/mp4' },
    ],
  })
  const parts: string[] = []
  page.on('request', request => {
    if (request.resourceType() === 'media') parts.push(request.headers().range ?? '')
  })
  await desk.open(`items/${item.uuid}`)
  const entry = (name: string) => page.getByRole('listitem').filter({ hasText: name })
  await entry('field.webm').getByRole('button', { name: 'Show' }).click()
  const player = page.locator('video')
  await player.waitFor()
  assert.equal(await player.getAttribute('aria-label'), 'field.webm')
  const size = await player.evaluate(async (video: HTMLVideoElement) => {
    video.muted = true
    const ended = new Promise(done => video.addEventListener('ended', done))
    await video.play()
    await ended
    return [video.videoWidth, video.videoHeight, video.currentTime > 0, video.error]
  })
  assert.deepEqual(size, [64, 48, true, null])
  // The picture is visible, not only its frame.
  const colours = await player.evaluate((video: HTMLVideoElement) => {
    const canvas = document.createElement('canvas')
    const context = canvas.getContext('2d')
    context?.drawImage(video, 0, 0)
    return [...(context?.getImageData(20, 20, 1, 1).data ?? [])]
  })
  assert.ok(Math.max(...colours.slice(0, 3)) > 100, String(colours))
  assert.ok(parts.length > 0 && parts.every(range => /^bytes=\d+-/.test(range)), parts.join())
  await takePicture(page, 'film-1440-light')
  await assertAccessible(page, 'a film')

  await entry('damaged.mp4').getByRole('button', { name: 'Show' }).click()
  await entry('damaged.mp4').getByText('This browser can’t show it.').waitFor()
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'CO8 a pasted SAML response says whom it would log in, by which signature, and what of it was forged',
  async t => {
    const provider = await startSamlProvider(t)
    const staff = { group: 'Staff', attribute: attributeNames.affiliation, value: 'staff' }
    const settings = {
      email: { match: true },
      attributes: { email: attributeNames.mail },
      groups: [staff],
    }
    const { env } = withSaml(t, [{ provider, settings }])
    const { service, desk, page } = await openArchive(t, { env })
    await introduce(service, provider)
    const attributes = { [attributeNames.affiliation]: 'staff' }
    provider.users.set('ada', person('ada', administrator, { attributes }))
    const { form } = await signIn(service, provider, 'ada')
    const pasted = form.fields.SAMLResponse ?? ''
    await desk.open('admin/system/sign-on')
    const field = page.getByLabel('Assertion or attributes')
    const answer = page.getByRole('region', { name: 'What would happen' })
    const explain = async (text: string) => {
      await field.fill(text)
      await field.press('Tab')
      await button(page, 'Explain').click()
      await answer.waitFor()
    }
    await explain(pasted)
    await answer.getByText('valid', { exact: true }).waitFor()
    await answer.getByText('Staff').waitFor()
    await answer.getByRole('link', { name: administrator }).waitFor()
    await settled(page)
    await answer.scrollIntoViewIfNeeded()
    await takePicture(page, 'explained-saml-1440-light')
    await assertAccessible(page, 'an explained SAML response')
    if (isLong) {
      await page.emulateMedia({ colorScheme: 'dark' })
      await takePicture(page, 'explained-saml-1440-dark')
      await assertAccessible(page, 'an explained SAML response, dark')
    }

    const xml = Buffer.from(pasted, 'base64').toString()
    await explain(xml.replaceAll(administrator, 'root@example.org'))
    await answer
      .getByText(/matches none of the provider/)
      .first()
      .waitFor()
    // Pasted text never becomes markup.
    assert.equal(await page.locator('main saml\\:Assertion, main script').count(), 0)
    desk.assertQuiet()
  },
)

const pages = [
  'people',
  'groups',
  'entities',
  'entities/letters',
  'tables',
  'import',
  'items',
  'ingest',
  'processes',
  'audit',
  'system',
  'system/logins',
  'system/figures',
  'system/backups',
  'system/alert',
] as const

if (isLong)
  testOn(
    'sqlite',
    'CO4 with forced colours and at 3840 px, every page of administrators is whole and can be read',
    async t => {
      const { service, item, page: person } = await openArchive(t)
      const { uuid } = (await service.storage.people.listEpersons())[0] ?? { uuid: '' }
      const groups = await service.storage.people.listGroups()
      const wide = await openDesk(t, service.front, { size: { width: 3840, height: 2160 } })
      const forced = await openDesk(t, service.front)
      await forced.page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
      for (const desk of [wide, forced]) await desk.logIn(administrator)
      await person.close()
      const faults: unknown[] = []
      const look = (check: Promise<void>) => check.catch((error: unknown) => faults.push(error))
      for (const path of [...pages, `people/${uuid}`, `groups/${groups[0]?.uuid}`, `items/${item.uuid}`])
        for (const [how, desk] of [
          ['3840', wide],
          ['forced', forced],
        ] as const) {
          await desk.open(`admin/${path}`)
          await settled(desk.page)
          const name = path.replace(/\/[\da-f-]{36}$/, '-one').replaceAll('/', '-')
          await takePicture(desk.page, `admin-${name}-${how}`)
          await look(assertFits(desk.page, `${path}, ${how}`))
          await look(assertWhole(desk.page, `${path}, ${how}`))
          await look(assertAccessible(desk.page, `${path}, ${how}`))
        }
      if (faults.length > 0) throw new AggregateError(faults, faults.map(String).join('\n\n'))
      wide.assertQuiet()
      forced.assertQuiet()
    },
  )

/** Asserts that no button, heading or tag has more text than room. */
async function assertWhole(page: Page, what: string): Promise<void> {
  const cut = await page
    .locator('main :is(h1, h2, button, a.button, .tag, label, th)')
    .evaluateAll(all =>
      all
        .filter(one => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1)
        .map(one => one.textContent?.slice(0, 60)),
    )
  assert.deepEqual(cut, [], what)
}
