import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreUnavailable } from '../../lib/errors.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import type { Secrets } from '../statements/sessions.ts'
import { createSigningOrder } from '../statements/sessions.ts'

/** The next rotation drops secrets that were replaced longer ago than this, in ms. */
const keepOld = 90 * 24 * 3600 * 1000
/** Interval in ms at which a running service checks the file for changes. */
const lookAgainAfter = 1_000

/**
 * The secrets of the embedded store (T7): the file `secret` in the data folder, mode 0600, one per line,
 * newest first: 256 random bits in base64url, and the time they were made. A running service notices a
 * rotation within a second, and signs with the new secret as soon as all others accept it.
 * @param record writes an event to the trail
 */
export function fileSecrets(dataFolder: string, record: (event: AuditEvent) => Promise<void>): Secrets {
  const file = join(dataFolder, 'secret')
  createOnce(file)
  const order = createSigningOrder()
  let modified: number | undefined
  let looked = 0
  function look(): void {
    looked = performance.now()
    const now = statSync(file, { throwIfNoEntry: false })?.mtimeMs
    if (now === undefined || now === modified) return
    order.update(
      read(file).map(({ secret, made, line }) => ({ id: line, secret, age: Date.now() - Date.parse(made) })),
    )
    modified = now
  }
  look()

  return {
    current: () => {
      if (performance.now() - looked > lookAgainAfter) look()
      return order.current()
    },
    rotate: async event => {
      const lines = read(file)
        // A secret was replaced when the one before it in the file was made.
        .filter((_, at, all) => at === 0 || Date.now() - Date.parse(all[at - 1]?.made ?? '') < keepOld)
        .map(one => one.line)
      const temporary = `${file}.${process.pid}`
      writeWhole(temporary, [newLine(), ...lines])
      renameSync(temporary, file)
      await record(event)
      return lines.length + 1
    },
  }
}

interface Secret {
  readonly secret: Uint8Array
  readonly made: string
}

const toLine = ({ secret, made }: Secret) => `${Buffer.from(secret).toString('base64url')} ${made}`

const newLine = () => toLine({ secret: randomBytes(32), made: new Date().toISOString() })

/** The text of the file. @param secrets newest first */
export const secretText = (secrets: readonly Secret[]): string =>
  secrets.map(secret => `${toLine(secret)}\n`).join('')

/** If several processes start at once, one creates the file and the others use it. */
function createOnce(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })) return
  const temporary = `${file}.${process.pid}`
  writeWhole(temporary, [newLine()])
  try {
    linkSync(temporary, file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(temporary)
  }
}

function writeWhole(file: string, lines: readonly string[]): void {
  try {
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600, flush: true })
  } catch (error) {
    rmSync(file, { force: true })
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
    throw new StoreUnavailable('the disk is full', { cause: error })
  }
}

/** The secrets of a data folder, newest first. */
export const readSecrets = (dataFolder: string) => read(join(dataFolder, 'secret'))

function read(file: string) {
  if (!statSync(file, { throwIfNoEntry: false }))
    throw new StoreUnavailable(`${file} is missing: restore it from a backup`)
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
  const secrets = lines.map(line => {
    const [text = '', made = ''] = line.split(' ')
    const secret = Buffer.from(text, 'base64url')
    if (secret.length < 32)
      throw new StoreUnavailable(`${file} is damaged: every line must begin with 256 bits in base64url`)
    return { secret, made, line }
  })
  if (secrets.length === 0)
    throw new StoreUnavailable(`${file} is empty: restore it from a backup, or remove it to log everyone out`)
  return secrets
}
