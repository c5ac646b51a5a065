/**
 * Builds the console into `dist/` during `npm ci` and packing. Written in JavaScript, because it runs before
 * any other build step.
 *
 * Each compressible file is also stored compressed at the highest level, so that the service only has to
 * choose one.
 */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const folder = import.meta.dirname
const assets = join(folder, 'dist/assets')
/** The modules of `@carrel/client` for pages without a build, which the service sends, too (CL15). */
const [modules, sent] = [join(folder, '../packages/client/dist/browser'), join(folder, 'dist/client')]
/** File types that are worth compressing; pictures and fonts are compressed already. */
const compressible = new Set(['.js', '.mjs', '.css', '.svg', '.wasm'])

async function main() {
  // `npm ci --omit=dev` installs no Vite; the published package contains the built console.
  if (!existsSync(join(folder, '../node_modules/vite'))) return
  const { build } = await import('vite')
  await build({ root: folder, configFile: join(folder, 'vite.config.ts'), logLevel: 'warn' })
  cpSync(modules, sent, { recursive: true })
  for (const place of [assets, sent])
    for (const name of readdirSync(place)) if (compressible.has(extname(name))) compress(join(place, name))
}

function compress(path) {
  const content = readFileSync(path)
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  const packed = { br: brotliCompressSync(content, { params: quality }), gz: gzipSync(content, { level: 9 }) }
  for (const [suffix, bytes] of Object.entries(packed))
    if (bytes.length < content.length) writeFileSync(`${path}.${suffix}`, bytes)
}

await main()
