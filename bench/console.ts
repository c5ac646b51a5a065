import { launchChromium } from '../test/support/clients/chromium.ts'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { startCarrel } from './support/processes.ts'

/** The console's first page in Chromium: what is sent, and when something is to be seen. */
const rounds = 9
const service = await startCarrel(scratch())
const browser = await launchChromium(scratch())

interface Load {
  /** In ms from the request of the page: the first thing that is drawn, and the title of the page. */
  readonly paint: number
  readonly title: number
  readonly bytes: number
  readonly requests: number
}

/** @param known whether the browser has been here before */
async function load(known: boolean): Promise<Load> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' })
  const page = await context.newPage()
  const address = `${service.address}/`
  if (known) {
    await page.goto(address)
    await page.locator('h1').waitFor()
    await page.goto('about:blank')
  }
  // The browser's own counts: bodies as they were sent, headers included; from its cache, nothing.
  const counter = await context.newCDPSession(page)
  let bytes = 0
  let requests = 0
  const cached = new Set<string>()
  await counter.send('Network.enable')
  counter.on('Network.requestServedFromCache', ({ requestId }) => cached.add(requestId))
  counter.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (cached.has(requestId) || encodedDataLength === 0) return
    bytes += encodedDataLength
    requests++
  })
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('h1')) return
      performance.mark('title')
      observer.disconnect()
    }).observe(document, { childList: true, subtree: true })
  })
  await page.goto(address)
  await page.locator('h1').waitFor()
  await page.waitForLoadState('networkidle')
  const times = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
    title: performance.getEntriesByName('title')[0]?.startTime ?? Number.NaN,
  }))
  await context.close()
  return { ...times, bytes, requests }
}

for (const known of [false, true]) {
  const loads: Load[] = []
  for (let round = 0; round < rounds; round++) loads.push(await load(known))
  const of = (name: keyof Load) => {
    const values = loads.map(one => one[name])
    return `${median(values).toFixed(0)} (${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)})`
  }
  console.log(
    `${known ? 'another visit' : 'first visit'}: first paint after ${of('paint')} ms, title after ${of('title')} ms, ` +
      `${(median(loads.map(({ bytes }) => bytes)) / 1000).toFixed(1)} kB in ${median(loads.map(one => one.requests))} requests`,
  )
}
await browser.close()
await service.stop()
