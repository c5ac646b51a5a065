import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../lib/own-files.ts'

/**
 * The reference page's files: those of Swagger UI, the console's colors for it, and the script that starts it.
 * In a checkout they come from the package and from this folder; the build copies them (docs/decisions/0046).
 */
const files = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'theme.css': 'text/css; charset=utf-8',
  'tokens.css': 'text/css; charset=utf-8',
} as const

/**
 * The script that starts the page, in the theme that was chosen in the console. It sends the CSRF pair of the
 * last answer with the next request, as any client should.
 */
const start = (csrfHeader: string) => `let pair
try {
  const theme = localStorage.getItem('carrel.theme')
  if (theme) document.documentElement.dataset.theme = theme
} catch {
  // Without storage, the page has the theme of the system.
}
/** Puts right where Swagger UI is not accessible: levels of headings, names, and links inside of buttons. */
const mend = {
  '.information-container': element => element.setAttribute('role', 'banner'),
  '.scheme-container': element => Object.assign(element, { role: 'region', ariaLabel: 'Server and login' }),
  '.filter-container': element => element.setAttribute('role', 'search'),
  'h3.opblock-tag': element => element.setAttribute('aria-level', '2'),
  '.opblock-section-header h4': element => element.setAttribute('aria-level', '3'),
  '.opblock-summary-control a[href], .opblock-summary a.nostyle[href]': element => element.removeAttribute('href'),
  '.models > h4': element => element.setAttribute('aria-level', '2'),
  'tr input, tr select, tr textarea': element =>
    element.setAttribute('aria-label', element.closest('tr').dataset.paramName ?? 'Value'),
  '#servers': element => element.setAttribute('aria-label', 'Server'),
  '.microlight, pre': element => element.setAttribute('tabindex', '0'),
}
new MutationObserver(() => {
  for (const [selector, change] of Object.entries(mend))
    for (const element of document.querySelectorAll(\`:is(\${selector}):not([data-mended])\`)) {
      change(element)
      element.dataset.mended = ''
    }
}).observe(document.getElementById('reference'), { childList: true, subtree: true })
SwaggerUIBundle({
  url: document.querySelector('link[rel=describedby]').href,
  dom_id: '#reference',
  deepLinking: true,
  displayOperationId: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  filter: true,
  syntaxHighlight: false,
  validatorUrl: null,
  responseInterceptor: response => {
    pair = response.headers[${JSON.stringify(csrfHeader.toLowerCase())}] ?? pair
    return response
  },
  requestInterceptor: request => {
    if (pair) request.headers['X-XSRF-TOKEN'] = pair
    return request
  },
})
`

/** @returns undefined for an unknown name, or if the package is not installed */
export async function pageFile(
  name: string,
  csrfHeader: string,
): Promise<{ readonly type: string; readonly content: Buffer } | undefined> {
  if (name === 'start.js')
    return { type: files['swagger-ui-bundle.js'], content: Buffer.from(start(csrfHeader)) }
  if (!Object.hasOwn(files, name)) return undefined
  const content = await readFile(pathOf(name)).catch(() => undefined)
  return content && { type: files[name as keyof typeof files], content }
}

function pathOf(name: string): string {
  for (const own of [import.meta.dirname, join(root, 'console/src/styles')])
    if (existsSync(join(own, name))) return join(own, name)
  try {
    return createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`)
  } catch {
    return join(root, 'dist/swagger-ui', name)
  }
}

export const page = (base: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Carrel: reference</title>
<link rel="describedby" href="${base}/openapi.json">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/docs/theme.css">
<div id="reference"></div>
<script src="${base}/docs/swagger-ui-bundle.js"></script>
<script src="${base}/docs/start.js"></script>
</html>
`

/** Allows no foreign address, and nothing inline; the pictures are in the style sheet. */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
