import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fetchMetadata, type Version } from './fetch.ts'
import { maxMetadata, type Reading, readMetadata, type Wanted } from './read.ts'

/** A source of metadata of several entities, with the last good reading. */
export interface Source {
  /**
   * Returns the current reading. It waits only if there is no valid one, and for some seconds at most.
   * @returns the reason as a text if there is none
   */
  current(): Promise<Reading | string>
  close(): void
}

interface SourceParts {
  /** PEM; if there are none, the signature isn't checked. */
  readonly certificates: readonly string[]
  readonly wanted: Wanted
  /** Called for each reading that succeeded. */
  readonly arrived: (reading: Reading) => void
  /** Called once for each reason, until a reading succeeds again. */
  readonly complain: (why: string) => void
}

/** Time in ms that a login waits for the first reading. */
const patience = 20_000
/** Time in ms for fetching a file. */
const timeToFetch = 5 * 60_000
/** Time in ms until a failed server is asked again. */
const retryAfter = 5 * 60_000
const longestTimer = 24 * 3_600_000

/** The shared part of both kinds of sources: one reading at a time, and the last good one. */
function createReader({ certificates, wanted, arrived, complain }: SourceParts) {
  let good: Reading | undefined
  let why = 'its metadata is still being read'
  let told: string | undefined
  let busy: Promise<void> | undefined
  let next = Promise.withResolvers<void>()
  const isValid = () => good && (good.validUntil === null || good.validUntil > Date.now())
  return {
    read: async (chunks: AsyncIterable<Uint8Array>): Promise<Reading> => {
      const reading = await readMetadata(chunks, certificates, wanted)
      if (reading.names.length === 0) throw new Error('it describes no SAML 2.0 identity provider')
      good = reading
      told = undefined
      arrived(reading)
      next.resolve()
      next = Promise.withResolvers()
      return reading
    },
    /** Does nothing while other work is under way. */
    begin: (work: () => Promise<void>): void => {
      busy ??= work()
        .catch((error: unknown) => {
          why = error instanceof Error ? error.message : String(error)
          if (why !== told) complain(why)
          told = why
        })
        .finally(() => {
          busy = undefined
        })
    },
    get isBusy() {
      return busy !== undefined
    },
    current: async (): Promise<Reading | string> => {
      const end = performance.now() + patience
      for (let left = patience; !isValid() && busy && left > 0; left = end - performance.now())
        await within(left, Promise.race([busy, next.promise]))
      return good ?? why
    },
  }
}

/** A file, which is read again when it has changed. */
export function fileSource(path: string, parts: SourceParts): Source {
  const reader = createReader(parts)
  let seen: string | undefined
  async function look(): Promise<void> {
    const found = await stat(path, { bigint: true }).catch(() => undefined)
    const now = found === undefined ? 'nothing' : `${found.mtimeNs}/${found.size}/${found.ino}`
    if (now === seen || reader.isBusy) return
    seen = now
    reader.begin(async () => void (await reader.read(createReadStream(path))))
  }
  void look()
  return {
    current: async () => {
      await look()
      return reader.current()
    },
    close: () => {},
  }
}

/**
 * An address, which is asked again and again; the last good copy is kept on disk.
 * @param folder of the copies
 * @param refresh seconds between two requests, unless the metadata asks for less
 */
export function addressSource(url: string, folder: string, refresh: number, parts: SourceParts): Source {
  const reader = createReader(parts)
  const copy = createKeptCopy(folder, url)
  const closing = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let version: Version = {}
  let cacheDuration: number | null = null

  async function readCopy(): Promise<void> {
    const kept = await copy.version()
    if (!kept) return
    cacheDuration = (await reader.read(copy.read())).cacheDuration
    version = kept
  }

  async function update(): Promise<void> {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeToFetch)])
    const fetched = await fetchMetadata(url, version, signal)
    if (fetched.kind === 'unknown') throw new Error('its server does not know this address (404)')
    if (fetched.kind === 'unchanged') return
    const reading = await copy.replace(fetched.body, fetched.version, reader.read)
    version = fetched.version
    cacheDuration = reading.cacheDuration
  }

  function schedule(milliseconds: number): void {
    if (closing.signal.aborted) return
    timer = setTimeout(() => reader.begin(updateAndGoOn), Math.min(milliseconds, longestTimer))
  }

  async function updateAndGoOn(): Promise<void> {
    try {
      await update()
      schedule(Math.max(minRefresh, Math.min(refresh, cacheDuration ?? refresh)) * 1000)
    } catch (error) {
      schedule(Math.min(refresh * 1000, retryAfter))
      if (!closing.signal.aborted) throw error
    }
  }
  const minRefresh = Math.min(refresh, 60)

  // A copy that can't be used any more, for example after a change of certificate, is only a reason to fetch
  // a new one.
  reader.begin(() =>
    readCopy()
      .catch(() => {})
      .then(updateAndGoOn),
  )
  return {
    current: reader.current,
    close: () => {
      closing.abort()
      clearTimeout(timer)
    },
  }
}

async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  await Promise.race([work, promise])
  clearTimeout(timer)
}

/**
 * The last good metadata from an address, on disk: it survives a restart, and days on which the server is
 * down.
 */
interface KeptCopy {
  /** Undefined if there is no copy. */
  version(): Promise<KeptVersion | undefined>
  read(): AsyncIterable<Uint8Array>
  /**
   * Writes new metadata to a file of its own, which replaces the copy if it is good.
   * @param check throws if it isn't
   */
  replace<T>(
    body: AsyncIterable<Uint8Array>,
    version: Version,
    check: (read: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<T>
}

interface KeptVersion extends Version {
  readonly url: string
}

function createKeptCopy(folder: string, url: string): KeptCopy {
  const name = createHash('sha256').update(url).digest('hex').slice(0, 32)
  const file = join(folder, `${name}.xml`)
  const about = join(folder, `${name}.json`)
  return {
    version: async () => {
      try {
        const kept = JSON.parse(await readFile(about, 'utf8')) as KeptVersion
        return kept.url === url ? kept : undefined
      } catch {
        return undefined
      }
    },
    read: () => createReadStream(file),
    replace: async (body, version, check) => {
      await mkdir(folder, { recursive: true })
      const part = join(folder, `${name}.${randomUUID()}.part`)
      try {
        await save(part, body)
        const checked = await check(createReadStream(part))
        // The version is removed first: after a crash between these steps, everything is fetched again.
        await rm(about, { force: true })
        await rename(part, file)
        await writeFile(about, JSON.stringify({ ...version, url }))
        return checked
      } finally {
        await rm(part, { force: true })
      }
    },
  }
}

async function save(part: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const out = await open(part, 'wx', 0o600)
  try {
    let bytes = 0
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > maxMetadata) throw new Error(`it is larger than ${maxMetadata / 1024 / 1024} MiB`)
      await out.appendFile(chunk)
    }
    await out.sync()
  } finally {
    await out.close()
  }
}
