import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @returns an empty folder that is removed at the end of the process */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const shared = fileURLToPath(new URL('../../../shared/data/tate-artworks.ndjson.gz', import.meta.url))

/** The 69,202 artworks; ARTWORKS names the file where it lies elsewhere. */
export function artworks(): string {
  const file = process.env.ARTWORKS ?? shared
  if (!existsSync(file)) throw new Error('the artworks are not here: set ARTWORKS to tate-artworks.ndjson.gz')
  return file
}
