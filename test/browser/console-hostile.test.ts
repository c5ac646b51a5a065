import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  assertAccessible,
  assertFits,
  openDesk,
  phone,
  screen,
  settled,
  startDeskService,
} from '../support/clients/console.ts'
import { fillArchive, lettersOf, reader } from '../support/data/archive.ts'
import { addItem, everybody } from '../support/data/repository.ts'
import { isLong, repeats } from '../support/scale.ts'
import { testOn } from '../support/service/engines.ts'
import { repository } from '../support/service/process.ts'
import { within } from '../support/service/waiting.ts'

/** Values of records that must be shown as text. */
const naughty = [
  '<script>document.title = "taken"</script>',
  '<img src=x onerror="document.title = \'taken\'">',
  '"><svg onload=alert(1)>',
  'javascript:alert(1)',
  '{{constructor.constructor("alert(1)")()}}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is data
  '${alert(1)} %s %n {n} {name}',
  "Robert'); DROP TABLE letters;--",
  '‮txet desrever ‏ שלום مرحبا',
  '\u202Eevil\u202C and \u2066isolated\u2069',
  '𝕳𝖊𝖑𝖑𝖔 👩‍👩‍👧‍👦 Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘',
  'NULL',
  'undefined',
  '../../etc/passwd',
  '%00%0a?#&=/\\',
  '\t\n  \u00a0',
  '',
  'W'.repeat(10_000),
  'word '.repeat(2_000),
  'https://example.org/?a=<b>&c="d"',
  'https://example.org/?a=1#b',
  'data:text/html,<script>alert(1)</script>',
]

testOn('sqlite', 'CO7 naughty values, names and keys are text on every page that shows them', async t => {
  const service = await startDeskService(t)
  await fillArchive(service)
  const records = naughty.map((text, at) => ({
    [`${text.slice(0, 20)}key ${at}`]: undefined,
    id: `${at} ${text.slice(0, 200)}`,
    title: text,
    many: [text, text],
    deep: { [text.slice(0, 60)]: { text } },
  }))
  await service.addRecords('hostile', 'id', records)
  const item = await addItem(service, {
    identifier: 'hostile/1',
    metadata: { 'dc.title': naughty.filter(Boolean).map(value => ({ value, language: null })) },
    readers: everybody,
    files: naughty
      .filter(text => text.trim() !== '' && text.length < 200)
      .map((text, at) => ({ name: `${at} ${text.replaceAll(/[/\\\n\t]/g, ' ')}`, content: text })),
  })
  // The list shows all values. In CI, single pages are checked for markup, letters, an address and a long
  // text.
  const some = (count: number) => (_: unknown, at: number) => at % count === 1
  const looks = isLong
    ? ([
        [phone, () => true],
        [screen, some(5)],
      ] as const)
    : ([[phone, some(4)]] as const)
  for (const [size, isChosen] of looks) {
    const desk = await openDesk(t, service.front, { size })
    const { page } = desk
    const keys = records.map(({ id }) => encodeURIComponent(id))
    for (const path of [
      'entities/hostile',
      'entities/hostile/draw?by=title',
      `items/${item.uuid}`,
      'items',
      ...keys.filter(isChosen).map(key => `entities/hostile/records/${key}`),
    ]) {
      await desk.open(path)
      assert.notEqual(await page.title(), 'taken', path)
      assert.equal(
        await page.locator('main script, main iframe, main object, main [onerror], main [onload]').count(),
        0,
        path,
      )
      assert.equal(await page.locator('main a[href^="javascript:"]').count(), 0, path)
      const addresses = await page
        .locator('main a[target=_blank]')
        .evaluateAll(all => all.map(one => `${one.getAttribute('href')} ${one.getAttribute('rel')}`))
      for (const one of addresses) assert.equal(one, 'https://example.org/?a=1#b noopener noreferrer', path)
      if (path === 'entities/hostile') assert.ok(addresses.length > 0, 'an address of a page is a link')
      assert.ok((await page.locator('main h1').innerText()).length < 400, path)
      await assertFits(page, path.slice(0, 60))
    }
    await assertAccessible(page, 'hostile records')
    desk.assertQuiet()
  }
})

testOn('sqlite', 'CO7 an entity with 1,000 columns opens, and any of them can be found', async t => {
  const service = await startDeskService(t)
  const wide = (id: number) => ({
    id,
    ...Object.fromEntries(Array.from({ length: 999 }, (_, at) => [`column_${at}`, `${id}-${at}`])),
  })
  await service.addRecords('wide', 'id', [wide(1), wide(2)])
  const desk = await openDesk(t, service.front)
  const { page } = desk
  await desk.open('entities/wide')
  assert.equal(await page.getByRole('columnheader').count(), 12)
  await page.getByRole('button', { name: /^Columns/ }).click()
  await page.getByRole('searchbox', { name: 'Find a column' }).fill('column_997')
  await page.getByRole('checkbox', { name: /^column_997/ }).check()
  await page.getByRole('columnheader', { name: 'column_997' }).waitFor()
  await page.getByText('2-997').waitFor()
  await desk.open('entities/wide/records/1')
  await page.getByText('1-998', { exact: true }).waitFor()
  desk.assertQuiet()
})

test('CO7 the first page is at most 120 kB as it is sent', () => {
  const dist = join(repository, 'console/dist')
  const html = readFileSync(join(dist, 'index.html'), 'utf8')
  const [home = ''] = globSync('assets/Home-*.js', { cwd: dist })
  const code = readFileSync(join(dist, home), 'utf8')
  const named = [...html.matchAll(/"\.\/(assets\/[^"]+)"/g)].map(([, name = '']) => name)
  const imported = [...code.matchAll(/from\s*["']\.\/([^"']+)["']/g)].map(([, name]) => `assets/${name}`)
  const styles = globSync('assets/Home-*.css', { cwd: dist })
  const all = new Set([...named, home, ...imported, ...styles])
  const bytes = [...all].reduce(
    (sum, name) => sum + readFileSync(join(dist, `${name}.br`)).length,
    html.length,
  )
  assert.ok(bytes <= 120_000, `${bytes} bytes`)
  assert.ok(all.size <= 8, `${all.size} requests`)
})

test('CO4 no text stands in the code: every language can say it', () => {
  const sources = globSync('console/src/**/*.tsx', { cwd: repository })
  assert.ok(sources.length > 30)
  const found = sources.flatMap(file => {
    const text = readFileSync(join(repository, file), 'utf8')
    const inMarkup = [...text.matchAll(/>\s*([A-Za-z][\w ,.’']{2,})\s*<\//g)].map(([, words = '']) =>
      words.trim(),
    )
    const inAttributes = [
      ...text.matchAll(/(?:title|label|placeholder|aria-label)="([^"]*[a-z]{3}[^"]*)"/g),
    ].map(([, words = '']) => words)
    return [...inMarkup, ...inAttributes]
      .filter(words => !['Carrel', 'PQL', '1998-01-31'].includes(words))
      .map(words => `${file}: ${words}`)
  })
  assert.deepEqual(found, [])
})

const changes = repeats(42, 500)

testOn(
  'sqlite',
  `CO7 after ${changes} page changes the memory of the page is within a fifth of what it was`,
  async t => {
    const service = await startDeskService(t)
    await fillArchive(service)
    await service.addRecords('more', 'id', lettersOf(40))
    const desk = await openDesk(t, service.front)
    const { page, context } = desk
    await desk.logIn(reader)
    const inspector = await context.newCDPSession(page)
    const used = async () => {
      await settled(page)
      for (let round = 0; round < 3; round++) await inspector.send('HeapProfiler.collectGarbage')
      const { usedSize } = (await inspector.send('Runtime.getHeapUsage')) as { usedSize: number }
      return usedSize
    }
    const paths = [
      'entities/more',
      'entities/more/records/3',
      'entities/more/draw',
      'items',
      'login',
      'entities/letters?page=2',
      '',
    ]
    const walk = async (count: number) => {
      for (let at = 0; at < count; at++) {
        const to = paths[at % paths.length] ?? ''
        await page.evaluate(
          ([path, base]) => {
            const link = document.createElement('a')
            link.href = path === '' ? `${base}/` : `${base}/console/${path}`
            document.body.append(link)
            link.click()
            link.remove()
          },
          [to, service.front] as const,
        )
        await page.evaluate(() => new Promise(resolve => setTimeout(resolve, 20)))
      }
      await page.evaluate(() => history.length)
    }
    // The first walk loads code and data that are kept.
    await walk(paths.length * 4)
    const before = await used()
    await walk(changes)
    const after = await used()
    assert.ok(after < before * 1.2, `${before} bytes, then ${after}`)
  },
)

testOn(
  'sqlite',
  'CO3 F2 uploaded code runs neither as a script nor as a worker in a page of the console',
  async t => {
    const service = await startDeskService(t)
    const code = "globalThis.taken = 'taken'; if (!globalThis.document) postMessage('taken')"
    const { bitstreams } = await addItem(service, {
      identifier: 'hostile/2',
      readers: everybody,
      files: [
        { name: 'a.js', content: code, mimeType: 'text/javascript' },
        { name: 'a.mjs', content: code, mimeType: 'application/javascript' },
        { name: 'a.css', content: ':root { --taken: taken }', mimeType: 'text/css' },
      ],
    })
    for (const size of [screen, phone]) {
      const { page, open } = await openDesk(t, service.front, { size })
      await open('')
      for (const { uuid } of bitstreams) {
        const running = page.evaluate(async path => {
          const isLoaded = (name: 'script' | 'link', more: object) =>
            new Promise(resolve => {
              const element = Object.assign(document.createElement(name), more)
              element.onload = () => resolve(true)
              element.onerror = () => resolve(false)
              document.head.append(element)
            })
          const says = (worker: Worker) =>
            new Promise(resolve => {
              worker.onmessage = () => resolve(true)
              worker.onerror = () => resolve(false)
            })
          await isLoaded('script', { src: path })
          await isLoaded('script', { src: path, type: 'module' })
          await isLoaded('link', { href: path, rel: 'stylesheet' })
          return {
            script: 'taken' in globalThis,
            style: getComputedStyle(document.documentElement).getPropertyValue('--taken') !== '',
            module: await import(path).then(
              () => true,
              () => false,
            ),
            worker: await says(new Worker(path)),
            moduleWorker: await says(new Worker(path, { type: 'module' })),
            serviceWorker: await navigator.serviceWorker.register(path).then(
              () => true,
              () => false,
            ),
          }
        }, `/api/core/bitstreams/${uuid}/content`)
        const ran = await within('a word of every worker', running, () => uuid)
        assert.deepEqual(
          Object.entries(ran).filter(([, is]) => is),
          [],
        )
      }
    }
  },
)
