import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../lib/own-files.ts'

/**
 * The reference page's files: those of Swagger UI, and the script that starts it. In a checkout they come
 * from the package; the build copies them (docs/decisions/0046).
 */
const files = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
} as const

/**
 * The script that starts the page. It sends the CSRF pair of the last answer with the next request, as any
 * client should.
 */
const start = (csrfHeader: string) => `let pair
SwaggerUIBundle({
  url: document.querySelector('link[rel=describedby]').href,
  dom_id: '#reference',
  deepLinking: true,
  displayOperationId: true,
  docExpansion: 'none',
  filter: true,
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
<link rel="stylesheet" href="${base}/docs/swagger-ui.css">
<main id="reference"></main>
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
