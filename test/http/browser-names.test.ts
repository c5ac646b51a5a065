import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserOf } from '../../src/authn/browser.ts'

const webKit = 'AppleWebKit/537.36 (KHTML, like Gecko)'

test('N1 the name of a browser is short, and that of no other browser', () => {
  for (const [header, name] of [
    ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 'Firefox (Linux)'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/140.0 Safari/537.36`, 'Chrome (Windows)'],
    [`Mozilla/5.0 (Windows NT 10.0) ${webKit} Chrome/140.0 Safari/537.36 Edg/140.0`, 'Edge (Windows)'],
    [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) ${webKit} Chrome/1.0 Safari/5 OPR/9`, 'Opera (macOS)'],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15',
      'Safari (macOS)',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126.0 Mobile/15E148 Safari/604.1',
      'Chrome (iPhone)',
    ],
    [
      `Mozilla/5.0 (Linux; Android 14) ${webKit} SamsungBrowser/25.0 Chrome/1 Mobile Safari/5`,
      'Samsung Internet (Android)',
    ],
    [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${webKit} Chrome/140.0 Safari/537.36`, 'Chrome (ChromeOS)'],
    ['Mozilla/5.0', null],
    ['curl/8.5.0', 'curl'],
    ['python-requests/2.31.0', 'python-requests'],
    ['node', 'node'],
    ['DSpace-Python-REST-Client/0.1.16', 'DSpace-Python-REST-Client'],
    [`${'a'.repeat(31)}/1`, null],
    [`${'('.repeat(100_000)}Firefox/1`, null],
    ['\u0000\u202e<b>', null],
    ['', null],
    [undefined, null],
  ] as const)
    assert.equal(browserOf(header), name, header ?? 'no header')
})
