import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @returns an empty folder that is removed when the process exits */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const shared = fileURLToPath(new URL('../../../shared/data/tate-artworks.ndjson.gz', import.meta.url))

/** Returns the path of the file of 69,202 artworks. ARTWORKS overrides it. */
export function artworks(): string {
  const file = process.env.ARTWORKS ?? shared
  if (!existsSync(file))
    throw new Error(`${file} does not exist; set ARTWORKS to the path of tate-artworks.ndjson.gz`)
  return file
}
