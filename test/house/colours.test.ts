import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

/** Returns the color properties declared in a style sheet, with whitespace normalized. */
const colours = (file: string) =>
  new Map(
    [...readFileSync(file, 'utf8').matchAll(/^\s*(--[\w-]+): (light-dark\(.*\))(?:;| \})/gm)].map(
      ([, name, value]) => [name ?? '', value] as const,
    ),
  )

test('the pages that the service makes itself have the colours of the console', () => {
  const [own, console] = [colours('src/http/html-page.ts'), colours('console/src/styles/tokens.css')]
  assert.ok(own.size > 5, String(own.size))
  for (const [name, value] of own) assert.equal(value, console.get(name), name)
})
