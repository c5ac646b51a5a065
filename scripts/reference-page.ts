import { copyFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the build copies beside `dist/openapi`: the reference page's files, so that who installs the package needs no more. */
const from = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const to = fileURLToPath(new URL('../dist/openapi/swagger-ui/', import.meta.url))
mkdirSync(to, { recursive: true })
for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE'])
  copyFileSync(join(from, name), join(to, name))
