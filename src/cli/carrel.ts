#!/usr/bin/env node
// Any Node must be able to read this file, so that an old one can be told: no static imports, no syntax newer
// than Node 18.

/** The oldest Node that `engines` in package.json allows. */
const needed = { major: 24, minor: 7 }

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < needed.major || (major === needed.major && minor < needed.minor)) {
  process.stderr.write(
    `carrel: Carrel needs Node ${needed.major}.${needed.minor} or newer; this is ${process.versions.node}\n`,
  )
  process.exitCode = 1
} else {
  const { main } = await import('./main.ts')
  await main()
}

export {}
