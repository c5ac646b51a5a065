import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { commandEvent } from '../../src/cli/store.ts'
import { AuthenticatorApp } from '../support/clients/authenticator-app.ts'
import {
  administrator,
  button,
  type Desk,
  dialog,
  lookAt,
  openDesk,
  phone,
  said,
  settled,
  startDeskService,
  takePicture,
} from '../support/clients/console.ts'
import { fillArchive, reader } from '../support/data/archive.ts'
import { testOn } from '../support/service/engines.ts'
import { isAccepted, quickLogin } from '../support/service/nodes.ts'
import { passwordOf } from '../support/service/service.ts'

/** Opens the console at `localhost`, since an address of numbers can have no passkeys. */
async function openAtName(t: TestContext, env: Readonly<Record<string, string>>, ...look: LookOf) {
  const named = (address: string) => address.replace('127.0.0.1', 'localhost')
  const service = await startDeskService(t, {
    env: front => ({ CARREL_BASE_URL: named(front.address), ...env }),
  })
  await fillArchive(service)
  const open = (...of: LookOf) => openDesk(t, named(service.front), ...of)
  const desk = await open(...look)
  // A refused login is an answer of 401, which browsers report.
  desk.expectRefusals()
  return { service, open, desk, page: desk.page }
}

type LookOf = Parameters<typeof openDesk> extends [unknown, unknown, ...infer Rest] ? Rest : never

/**
 * Gives the browser a built-in authenticator. @returns a function that does something whose passkeys the user
 * agrees to; otherwise they don't answer
 */
async function giveAuthenticator({
  context,
  page,
}: Desk): Promise<(work: () => Promise<void>) => Promise<void>> {
  const inspector = await context.newCDPSession(page)
  await inspector.send('WebAuthn.enable')
  const options = { protocol: 'ctap2', transport: 'internal' } as const
  const can = { hasResidentKey: true, hasUserVerification: true, isUserVerified: true }
  const { authenticatorId } = await inspector.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, ...can, automaticPresenceSimulation: false },
  })
  const agree = (enabled: boolean) =>
    inspector.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
  return async work => {
    await agree(true)
    await work()
    await agree(false)
  }
}

const submit = (place: Page | Locator) => button(place, 'Log in')

/** The first step of a login, on the page or in the dialog over one. */
async function givePassword(place: Locator, email: string): Promise<void> {
  await place.getByLabel('Email address').fill(email)
  await place.getByLabel('Password', { exact: true }).fill(passwordOf(email))
  await submit(place).click()
}

const isIn = async (page: Page) => {
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await settled(page)
}

/** @param loads true if the page of the login is loaded anew; otherwise a link leads there */
async function logOut(desk: Desk, loads = true): Promise<void> {
  // On a phone, the menu is closed.
  const menu = button(desk.page, 'Menu')
  if (await menu.isVisible()) await menu.click()
  await button(desk.page, /^Account of/).click()
  // An empty document takes the place of the one who left.
  const left = desk.page.waitForEvent('load')
  await button(desk.page, 'Log out').click()
  await left
  if (loads) return desk.open('login')
  await desk.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await desk.page.getByRole('link', { name: 'Log in', exact: true }).first().click()
}

/** Waits until the cursor is in the field with this label. */
const cursorIn = (place: Page | Locator, page: Page, label: string) =>
  place.getByLabel(label).and(page.locator(':focus')).waitFor()

/** The numbers of lines of the codes that are shown. */
const linesOfCodes = (page: Page) =>
  page.locator('.recovery code').evaluateAll(all => all.map(one => one.getClientRects().length))
const oneLineEach = Array<number>(10).fill(1)

const secretIn = async (page: Page | Locator) =>
  (await page.locator('.totp-secret').innerText()).replaceAll(' ', '')

const factorsIn = (page: Page) => page.getByRole('listitem').filter({ hasText: 'last used' })

testOn(
  'sqlite',
  'CO19 an app, a passkey and recovery codes are added, log in, and are removed, renewed and reset',
  async t => {
    const { service, open, desk, page } = await openAtName(t, {})
    const agree = await giveAuthenticator(desk)
    const elsewhere = await quickLogin(service, reader)
    assert.equal(await isAccepted(service, elsewhere), true)
    await desk.logIn(reader)
    const main = page.getByRole('main')

    // An app, by keyboard.
    await desk.open('account')
    await button(page, 'Add an authenticator app').press('Enter')
    await cursorIn(dialog(page), page, 'Name')
    await page.keyboard.type('My phone')
    await dialog(page).getByLabel('End all other sessions').check()
    await dialog(page).getByLabel('Your password').fill('wrong')
    await page.keyboard.press('Enter')
    await dialog(page).getByText('This is not your password.').waitFor()
    await dialog(page).getByLabel('Your password').fill(passwordOf(reader))
    await page.keyboard.press('Enter')
    await dialog(page)
      .getByRole('img', { name: /^QR code/ })
      .waitFor()
    const secret = await secretIn(dialog(page))
    const app = new AuthenticatorApp(secret)
    const code = dialog(page).getByLabel('Code from your app')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await button(dialog(page), 'Copy the secret').click()
    await said(page, 'Copied')
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret)
    const link = dialog(page).getByRole('link', { name: 'Open in an app on this device' })
    assert.match(
      (await link.getAttribute('href')) ?? '',
      new RegExp(`^otpauth://totp/.*[?&]secret=${secret}&`),
    )
    await code.focus()
    await page.keyboard.type(app.old())
    await page.keyboard.press('Enter')
    await dialog(page)
      .getByText(/This code is not right/)
      .waitFor()
    assert.deepEqual(await lookAt(desk, 'second-factor-app-1440'), [])
    await code.fill(await app.next())
    await page.keyboard.press('Enter')
    await dialog(page).getByText('They are shown only now').waitFor()
    const codes = await dialog(page).getByRole('listitem').allInnerTexts()
    assert.equal(await isAccepted(service, elsewhere), false, 'the session elsewhere has ended')
    assert.equal(new Set(codes).size, 10)
    await dialog(page).getByRole('heading', { name: 'Keep your recovery codes' }).waitFor()
    assert.equal(await dialog(page).getByText('Add an authenticator app').count(), 0)
    assert.deepEqual(await linesOfCodes(page), oneLineEach)
    assert.deepEqual(await lookAt(desk, 'second-factor-codes-1440'), [])
    const downloaded = page.waitForEvent('download')
    await button(dialog(page), 'Download').click()
    const kept = readFileSync(await (await downloaded).path(), 'utf8')
    assert.deepEqual(
      codes.filter(one => !kept.includes(one)),
      [],
    )
    await button(dialog(page), 'Copy').click()
    await said(page, 'Copied')
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), codes.join('\n'))
    await page.emulateMedia({ media: 'print' })
    const printed = await page
      .locator('.recovery code, .recovery ~ .row button')
      .evaluateAll(all =>
        all.filter(one => one.checkVisibility({ visibilityProperty: true })).map(one => one.textContent),
      )
    assert.deepEqual(printed, codes)
    await page.emulateMedia({ media: null })
    await button(dialog(page), 'I have kept them').click()
    await said(page, /^Added/)
    await main.getByText('10 recovery codes are left.').waitFor()

    // A passkey that stands alone; the proof is the app.
    await button(page, 'Add a passkey').click()
    await dialog(page).getByLabel('Name').fill('My laptop')
    await dialog(page).getByLabel('Use it in place of the password, too').check()
    await dialog(page)
      .getByLabel('Code from your app')
      .fill(await app.next())
    await agree(async () => {
      await button(dialog(page), 'Continue').click()
      await factorsIn(page).filter({ hasText: 'My laptop' }).getByText('in place of the password').waitFor()
    })
    assert.deepEqual(await lookAt(desk, 'second-factor-account-1440'), [])

    // Renamed; the proof is the passkey.
    await button(page, 'Rename My laptop').click()
    await dialog(page).getByLabel('Name').fill('My <b>desk</b>')
    await agree(async () => {
      await button(dialog(page), 'Save').click()
      await factorsIn(page).filter({ hasText: 'My <b>desk</b>' }).waitFor()
    })

    // By password and code, then over a page whose session has ended, where what was typed stays.
    await logOut(desk)
    await givePassword(main, reader)
    await button(main, 'Use a code from your app').click()
    await page.locator('input:focus').waitFor()
    await page.keyboard.type(await app.next())
    await page.keyboard.press('Enter')
    await isIn(page)
    await desk.open('account')
    await page.getByLabel('First name').fill('Ruth Elisabeth')
    const { uuid = '' } = (await service.storage.people.credentials(reader)) ?? {}
    await service.storage.sessions.logout(uuid, commandEvent('logout'))
    await button(page, 'Save').first().click()
    await dialog(page).getByRole('heading', { name: 'Your session is over' }).waitFor()
    await givePassword(dialog(page), reader)
    await button(dialog(page), 'Use a recovery code').click()
    const recovery = dialog(page).getByLabel('Recovery code')
    await recovery.fill('aaaa-aaaa-aaaa-aaaa')
    const useUp = button(dialog(page), 'Use up the recovery code')
    await useUp.click()
    await dialog(page)
      .getByText(/This recovery code is wrong/)
      .waitFor()
    await recovery.fill(` ${codes[3]?.toUpperCase().replaceAll('-', ' ')}`)
    await useUp.click()
    await said(page, 'Saved.')
    await said(page, '9 recovery codes are left.')
    assert.equal(await page.getByLabel('First name').inputValue(), 'Ruth Elisabeth')

    // By the passkey alone: it is offered at once, or by a button where the browser can't offer it.
    await agree(async () => {
      await logOut(desk, false)
      await button(page, /^Account of/).waitFor()
      await isIn(page)
    })
    await page.addInitScript(() => {
      PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)
    })
    await logOut(desk)
    await agree(async () => {
      await button(main, 'Log in with a passkey').click()
      await isIn(page)
    })
    await logOut(desk)
    await givePassword(main, reader)
    await main.getByText('Your browser will ask for your passkey.').waitFor()
    await agree(async () => {
      await button(main, 'Confirm with the passkey').press('Enter')
      await isIn(page)
    })

    // The codes are renewed, and the app is removed.
    await desk.open('account')
    await main.getByText('9 recovery codes are left.').waitFor()
    await button(page, 'New recovery codes').click()
    await agree(async () => {
      await button(dialog(page), 'New recovery codes').click()
      await dialog(page).getByText('They are shown only now').waitFor()
    })
    const [renewed] = await dialog(page).getByRole('listitem').allInnerTexts()
    assert.ok(renewed && !codes.includes(renewed))
    await button(dialog(page), 'I have kept them').click()
    await main.getByText('10 recovery codes are left.').waitFor()
    await button(page, 'Remove My phone').click()
    await agree(async () => {
      await button(dialog(page), 'Remove').click()
      await said(page, 'Removed.')
    })
    await factorsIn(page).filter({ hasText: 'My phone' }).waitFor({ state: 'detached' })
    assert.equal(await factorsIn(page).count(), 1)

    // An administrator, who has no factor, resets it.
    const ada = await open()
    await ada.logIn(administrator)
    await ada.open(`admin/people/${uuid}`)
    await factorsIn(ada.page).filter({ hasText: 'My <b>desk</b>' }).waitFor()
    await button(ada.page, 'Reset the second factor').click()
    await dialog(ada.page).getByLabel('Your password').fill(passwordOf(administrator))
    assert.deepEqual(await lookAt(ada, 'second-factor-reset-1440'), [])
    await button(dialog(ada.page), 'Reset the second factor').click()
    await said(ada.page, /^The second factor of .* is reset/)
    await ada.page.getByText('None: the password alone logs in.').waitFor()
    ada.assertQuiet()
    await desk.open('login')
    await givePassword(main, reader)
    await isIn(page)
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO19 whoever needs a factor enrols it while they log in, on a phone and in the dark, in either language',
  async t => {
    const { open, desk, page } = await openAtName(
      t,
      { CARREL_SECOND_FACTOR: 'everybody' },
      { size: phone, theme: 'dark' },
    )
    const main = page.getByRole('main')
    await desk.open('login')
    await givePassword(main, reader)
    await main.getByText('Your account needs a second factor').waitFor()
    await cursorIn(main, page, 'Name')
    await page.keyboard.type('Phone')
    await main.getByRole('radio', { name: /^authenticator app/ }).check()
    assert.deepEqual(await lookAt(desk, 'second-factor-enrol-360'), [])
    await button(main, 'Continue').click()
    await main.getByRole('img', { name: /^QR code/ }).waitFor()
    await button(main, 'Copy the secret').waitFor()
    await main.getByRole('link', { name: 'Open in an app on this device' }).waitFor()
    assert.deepEqual(await lookAt(desk, 'second-factor-code-360'), [])
    const app = new AuthenticatorApp(await secretIn(main))
    await main.getByLabel('Code from your app').fill(await app.next())
    await button(main, 'Add it').click()
    await main.getByRole('heading', { name: /^Recovery codes for/ }).waitFor()
    assert.equal(await main.getByText('Your account needs a second factor').count(), 0)
    assert.deepEqual(await linesOfCodes(page), oneLineEach)
    assert.deepEqual(await lookAt(desk, 'second-factor-codes-360'), [])
    await button(main, 'I have kept them').click()
    await isIn(page)
    await desk.open('account')
    await factorsIn(page).filter({ hasText: 'Phone' }).waitFor()
    assert.deepEqual(await lookAt(desk, 'second-factor-account-360'), [])

    await logOut(desk)
    await givePassword(main, reader)
    await cursorIn(main, page, 'Code from your app')
    await button(main, 'Confirm the code').waitFor()
    assert.equal(await submit(main).count(), 0)
    assert.deepEqual(await lookAt(desk, 'second-factor-step-360'), [])
    await takePicture(page, 'second-factor-step-360')
    await button(main, 'Start over').click()
    assert.equal(await main.getByLabel('Email address').inputValue(), reader)

    // A passkey, in German.
    const ada = await open()
    const agree = await giveAuthenticator(ada)
    ada.expectRefusals()
    await ada.page.addInitScript(() => localStorage.setItem('carrel.language', 'de'))
    await ada.open('login')
    const form = ada.page.getByRole('main')
    await form.getByLabel('E-Mail-Adresse').fill(administrator)
    await form.getByLabel('Passwort', { exact: true }).fill(passwordOf(administrator))
    await button(form, 'Anmelden').click()
    await form.getByLabel('Name').fill('Schlüssel')
    assert.deepEqual(await lookAt(ada, 'second-factor-enrol-de-1440'), [])
    await agree(async () => {
      await button(form, 'Weiter').click()
      await button(form, 'Ich habe sie aufbewahrt').click()
    })
    await ada.page.getByRole('heading', { level: 1, name: 'Überblick' }).waitFor()
    ada.assertQuiet()
    desk.assertQuiet()
  },
)
