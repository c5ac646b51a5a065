import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { artworks, scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { entry, memory } from './support/processes.ts'

/** The import of the 69,202 artworks: time and peak memory of the whole process. */
const seconds: number[] = []
const peaks: number[] = []
for (let round = 0; round < 3; round++) {
  const start = performance.now()
  const child = spawn(
    process.execPath,
    [entry, 'import', artworks(), '--entity', 'artworks', '--key', 'id'],
    {
      env: { ...process.env, CARREL_DATA: scratch() },
      stdio: 'ignore',
    },
  )
  let peak = 0
  const watch = setInterval(() => {
    try {
      peak = Math.max(peak, memory(child.pid ?? 0).peak || 0)
    } catch {
      // The process has just ended.
    }
  }, 20)
  await new Promise(resolve => child.once('exit', resolve))
  clearInterval(watch)
  seconds.push((performance.now() - start) / 1000)
  peaks.push(peak)
}
// The baseline only reads, unpacks and parses the same file.
const { gunzipSync } = await import('node:zlib')
const start = performance.now()
const lines = gunzipSync(readFileSync(artworks())).toString().trim().split('\n')
for (const line of lines) JSON.parse(line)
const bare = (performance.now() - start) / 1000
console.log(
  `import of ${lines.length.toLocaleString('en')} artworks: ${median(seconds).toFixed(1)} s ` +
    `(${(median(seconds) / bare).toFixed(1)} times unpacking and parsing alone), ${median(peaks).toFixed(0)} MB peak`,
)
