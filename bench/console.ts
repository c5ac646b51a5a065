import { launchChromium } from '../test/support/clients/chromium.ts'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { startCarrel } from './support/processes.ts'

/** Measures the console's first page in Chromium: the bytes sent, and the time until something is visible. */
const rounds = 9
const service = await startCarrel(scratch())
const browser = await launchChromium(scratch())

interface Load {
  /** Times in ms from the request of the page until anything is drawn, and until the title is. */
  readonly paint: number
  readonly title: number
  readonly bytes: number
  readonly requests: number
}

/** @param known true if the browser has loaded the console before */
async function load(known: boolean): Promise<Load> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' })
  const page = await context.newPage()
  const address = `${service.address}/`
  if (known) {
    await page.goto(address)
    await page.locator('h1').waitFor()
    await page.goto('about:blank')
  }
  // The browser counts bodies as they were sent, and headers; responses from its cache count nothing.
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
