/**
 * Builds the console into `dist/`: a step of `npm ci`, and of packing. JavaScript, because it runs before anything else does.
 *
 * Every file is also there compressed, as small as it gets: the service only chooses.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const folder = import.meta.dirname
const assets = join(folder, 'dist/assets')
/** What compresses; pictures and fonts don't. */
const compressible = new Set(['.js', '.mjs', '.css', '.svg', '.wasm'])

async function main() {
  // `npm ci --omit=dev` installs no Vite: the package that is published brings the console built.
  if (!existsSync(join(folder, '../node_modules/vite'))) return
  const { build } = await import('vite')
  await build({ root: folder, configFile: join(folder, 'vite.config.ts'), logLevel: 'warn' })
  for (const name of readdirSync(assets)) if (compressible.has(extname(name))) compress(join(assets, name))
}

function compress(path) {
  const content = readFileSync(path)
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  const packed = { br: brotliCompressSync(content, { params: quality }), gz: gzipSync(content, { level: 9 }) }
  for (const [suffix, bytes] of Object.entries(packed))
    if (bytes.length < content.length) writeFileSync(`${path}.${suffix}`, bytes)
}

await main()
