import { chromium } from 'playwright-core'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
const [out, cols, ...names] = process.argv.slice(2)
const files = readdirSync('/tmp/ui-shots')
const picked = names.map(n => files.find(f => f.includes(n))).filter(Boolean)
const folder = readdirSync(tmpdir()).find(f => /^carrel-chromium-[\d.]+$/.test(f))
const browser = await chromium.launch({ executablePath: `${tmpdir()}/${folder}/chromium`, args: ['--no-sandbox', '--no-zygote', '--disable-gpu'], env: {HOME:'/tmp/ui-home', FONTCONFIG_PATH:`${tmpdir()}/${folder}`} })
const page = await browser.newPage({ viewport: { width: 1950, height: 400 } })
const { writeFileSync } = await import('node:fs')
writeFileSync('/tmp/ui-montage.html', `<body style="margin:0;display:grid;grid-template-columns:repeat(${cols},1fr);gap:4px;background:#888">${picked.map(f => `<div style="font:12px sans-serif;background:#fff">${f.replace(/[0-9a-f-]{36}/g,'ID')}<br><img style="width:100%" src="file:///tmp/ui-shots/${f}"></div>`).join('')}</body>`)
await page.goto('file:///tmp/ui-montage.html')
await page.waitForTimeout(500)
await page.screenshot({ path: out, fullPage: true })
await browser.close()
