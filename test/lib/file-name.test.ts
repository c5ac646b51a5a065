import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileName } from '../../src/lib/file-name.ts'

test('I7 a name of a file loses its folders, what nobody sees, and what systems take for something else', () => {
  for (const [text, name] of [
    ['Flüsse 1931.pdf', 'Flüsse 1931.pdf'],
    ['.htaccess', '.htaccess'],
    ['a..b', 'a..b'],
    ['नि\u200dज.txt', 'नि\u200dज.txt'],
    ['可.txt', '可.txt'],
    ['../../evil', 'evil'],
    ['C:\\Users\\me\\a.txt', 'a.txt'],
    ['/etc/passwd', 'passwd'],
    ['a/', ''],
    ['..', ''],
    ['', ''],
    [' \t\n', ''],
    [' a.txt ', 'a.txt'],
    ['a\u0000b\r\n\u007f\u0085.txt', 'ab.txt'],
    ['exe\u202egpj.txt', 'exegpj.txt'],
    ['a\u2066b\u2069\u200e\u061c\ufeff\u00ad\u2028\u{e0041}.txt', 'ab.txt'],
    ['a\ud800.txt', 'a\ufffd.txt'],
    ['NUL', '_NUL'],
    ['com1.txt', '_com1.txt'],
    ['console.txt', 'console.txt'],
  ] as const)
    assert.deepEqual(fileName(text), { name, isChanged: name !== text }, JSON.stringify(text))
})
