/**
 * The last step of `npm ci`: makes `node` in npm scripts the Node that package-lock.json pins, or fails. It then removes what
 * packages bring and nothing here uses.
 *
 * npm checks each package against its hash in package-lock.json. But it leaves out an optional package that it can't
 * install, a wrong hash included, and reports success. npm scripts would then run on the machine's own Node, which is
 * also what may run this file: hence JavaScript, for any Node that runs npm.
 */
import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

const folder = process.cwd()
const read = (...path) => JSON.parse(readFileSync(join(folder, ...path), 'utf8'))

function fail(message) {
  console.error(message)
  process.exit(1)
}

function main() {
  // `exec` in scripts lets a signal to npm reach the program. The shell of Windows doesn't know it.
  if (process.platform === 'win32') writeFileSync(join(folder, 'node_modules/.bin/exec.cmd'), '@%*\r\n')

  // `npm ci --omit=dev` installs no Node, for servers that have their own.
  if (!existsSync(join(folder, 'node_modules/carrel-node'))) return

  const locked = read('package-lock.json').packages
  const platform = `${process.platform}-${process.arch}`
  const name = Object.keys(read('tools/node/package.json').optionalDependencies).find(candidate => {
    const { os, cpu } = locked[`node_modules/${candidate}`]
    return `${os}-${cpu}` === platform
  })
  if (name === undefined) {
    console.error(`No Node for ${platform} is pinned in tools/node: npm scripts run on the machine's own.`)
    return
  }
  const { version } = locked[`node_modules/${name}`]
  if (!existsSync(join(folder, 'node_modules', name)))
    fail(
      `${name}@${version} is not installed: npm could not download it, or it does not match the hash in ` +
        `package-lock.json. Compare that with \`npm view ${name}@${version} dist.integrity\`.`,
    )
  const installed = read('node_modules', name, 'package.json')
  if (installed.version !== version)
    fail(`${name} is version ${installed.version}, but package-lock.json pins ${version}. Run \`npm ci\`.`)
  link(join('..', name, installed.bin.node))
  for (const path of [`${name}/include`, `${name}/share`, ...unused, ...canvases()])
    rmSync(join(folder, 'node_modules', path), { recursive: true, force: true })
}

/** Icons in formats that the console isn't built from. */
const unused = ['lucide/dist/cjs', 'lucide/dist/umd']

/** The canvas for Node, which pdfjs-dist uses outside of browsers only. */
function canvases() {
  const scope = join(folder, 'node_modules/@napi-rs')
  const names = existsSync(scope) ? readdirSync(scope) : []
  return names.filter(one => one.startsWith('canvas')).map(one => `@napi-rs/${one}`)
}

/** npm 10 removes node_modules/.bin/node together with the packages for other platforms, which have the same `bin`. */
function link(target) {
  const commands = join(folder, 'node_modules/.bin')
  const windows = process.platform === 'win32'
  const path = join(commands, windows ? 'node.exe' : 'node')
  const wanted = join(commands, target)
  if (existsSync(path) && statSync(path).ino === statSync(wanted).ino) return
  rmSync(path, { force: true })
  // Symbolic links need a privilege on Windows.
  if (windows) linkSync(wanted, path)
  else symlinkSync(target, path)
}

main()
