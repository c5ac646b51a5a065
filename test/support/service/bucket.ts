import { createCipheriv, createDecipheriv, createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream, globSync, mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { TestContext } from 'node:test'
import { atEnd } from './at-end.ts'
import { type Fault, type FaultyLine, startFaultyLine } from './faulty-line.ts'
import { scratch } from './postgres-server.ts'

/** A listening server that speaks S3, behind a line whose `fault` a test sets. */
export interface BucketServer {
  /** The endpoint of clients. */
  readonly line: FaultyLine
  /** The server behind the line, whose answers never fail. */
  readonly address: string
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Returns the file in which the server keeps an object, to damage it. */
  fileOf(key: string): string
  /** Lists the keys of objects that begin with this. */
  keys(prefix?: string): readonly string[]
  /** Lists the multipart uploads that were neither completed nor aborted. */
  uploads(): Promise<readonly Upload[]>
}

interface Upload {
  readonly key: string
  readonly id: string
  readonly initiated: Date
}

/** A server that has no time, as S3 says it. */
export const slowDown: Fault = {
  status: 503,
  headers: { 'content-type': 'application/xml' },
  body: '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
}
/** A connection that is closed without an answer. */
export const refused: Fault = { requestBreaksAfter: 0 }

/** Starts a server with an empty bucket, and perhaps more. It is stopped at the end of the test. */
export async function startBucket(
  t: TestContext,
  bucket = 'carrel',
  ...others: readonly string[]
): Promise<BucketServer> {
  const require = createRequire(import.meta.url)
  replaceDes(require('node:crypto') as Ciphers)
  const S3rver = require('s3rver') as new (options: Options) => Server
  const folder = mkdtempSync(join(scratch, 'carrel-bucket-'))
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    vhostBuckets: false,
    directory: folder,
    configureBuckets: [bucket, ...others].map(name => ({ name })),
  })
  writeAtomically(server.store)
  server.middleware.unshift(addMissing(server.store))
  const { port } = await server.run()
  atEnd(t, async () => {
    server.httpServer.closeAllConnections()
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const address = `http://127.0.0.1:${port}`
  const line = await startFaultyLine(t, () => address)
  return {
    ...{ line, address, bucket, accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    fileOf: key => server.store.getResourcePath(bucket, key, 'object'),
    keys: (prefix = '') =>
      globSync(`**/*${suffix}`, { cwd: join(folder, bucket) })
        .map(name => name.slice(0, -suffix.length))
        .filter(name => name.startsWith(prefix)),
    uploads: () => uploadsIn(server.store, bucket),
  }
}

/** Returns settings of files in this bucket, with credentials, which this process gets, too. */
export function bucketSettings({ line, bucket, ...key }: BucketServer, prefix = 'archive') {
  const credentials = { AWS_ACCESS_KEY_ID: key.accessKeyId, AWS_SECRET_ACCESS_KEY: key.secretAccessKey }
  Object.assign(process.env, credentials)
  return {
    ...credentials,
    CARREL_FILES: `s3://${bucket}/${prefix}`,
    CARREL_FILES_ENDPOINT: line.address,
  }
}

/** End of the name of a file with an object. */
const suffix = '._S3rver_object'

// The server ------------------------------------------------------------------------------------------------

type Options = Readonly<Record<string, unknown>>
type Headers = Readonly<Record<string, unknown>>

/** The parts of s3rver that are used; the package has no types. */
interface Server {
  readonly httpServer: { closeAllConnections(): void }
  readonly store: Store
  readonly middleware: Middleware[]
  run(): Promise<{ readonly port: number }>
  close(): Promise<void>
}
interface Store {
  getResourcePath(bucket: string, key: string | undefined, resource: string): string
  getMetadata(bucket: string, key: string): Promise<Headers>
  putMetadata(bucket: string, key: string, metadata: Headers, md5?: string): Promise<void>
  putObject(object: StoredObject): Promise<Written>
  putPart(bucket: string, upload: string, part: string, content: Readable): Promise<Written>
  deleteObject(bucket: string, key: string): Promise<void>
  copyObject(from: string, fromKey: string, to: string, toKey: string, metadata?: Headers): Promise<Headers>
}
interface StoredObject {
  readonly bucket: string
  readonly key: string
  readonly content: Buffer | Readable
  readonly metadata: Headers
}
interface Written {
  readonly size: number
  readonly md5: string
}
interface Context {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string | undefined>>
  readonly headers: Readonly<Record<string, string | undefined>>
  status: number
  type: string
  body: unknown
}
type Middleware = (context: Context, next: () => Promise<void>) => Promise<void>

interface Ciphers {
  createCipheriv: typeof createCipheriv
  createDecipheriv: typeof createDecipheriv
}

/** The server hides places in lists by DES, which OpenSSL no longer has: lists of several pages failed. */
function replaceDes(crypto: Ciphers): void {
  const twice = (bytes: unknown) => Buffer.concat([bytes as Buffer, bytes as Buffer])
  const replaced =
    <F extends typeof createCipheriv | typeof createDecipheriv>(make: F) =>
    (name: string, key: unknown, iv: unknown) =>
      name === 'des' ? make('aes-128-cbc', twice(key), twice(iv)) : make(name, key as Buffer, iv as Buffer)
  crypto.createCipheriv = replaced(createCipheriv) as typeof createCipheriv
  crypto.createDecipheriv = replaced(createDecipheriv) as typeof createDecipheriv
}

/**
 * Makes an object appear whole or not at all, as S3 does. s3rver writes in place, answers before the last
 * bytes are written, and keeps what came before a connection was lost.
 */
function writeAtomically(store: Store): void {
  async function write(path: string, content: Buffer | Readable): Promise<Written> {
    const sum = createHash('md5')
    let size = 0
    await mkdir(dirname(path), { recursive: true })
    const temporary = `${path}.${randomUUID()}`
    try {
      await pipeline(
        Buffer.isBuffer(content) ? [content] : content,
        async function* (chunks: AsyncIterable<Buffer>) {
          for await (const chunk of chunks) {
            sum.update(chunk)
            size += chunk.length
            yield chunk
          }
        },
        createWriteStream(temporary),
      )
      await rename(temporary, path)
    } finally {
      await rm(temporary, { force: true })
    }
    return { size, md5: sum.digest('hex') }
  }
  store.putObject = async ({ bucket, key, content, metadata }) => {
    const written = await write(store.getResourcePath(bucket, key, 'object'), content)
    await store.putMetadata(bucket, key, metadata, written.md5)
    return written
  }
  store.putPart = async (bucket, upload, part, content) => {
    const path = join(store.getResourcePath(bucket, undefined, 'uploads'), upload, part)
    const written = await write(path, content)
    await writeFile(`${path}.md5`, written.md5)
    return written
  }
  // s3rver also removes folders, into which others are writing.
  store.deleteObject = async (bucket, key) => {
    for (const resource of ['object', 'object.md5', 'metadata.json'])
      await rm(store.getResourcePath(bucket, key, resource), { force: true })
  }
  store.copyObject = async (from, fromKey, to, toKey, metadata) => {
    const kept = metadata ?? (await store.getMetadata(from, fromKey))
    const content = createReadStream(store.getResourcePath(from, fromKey, 'object'))
    await store.putObject({ bucket: to, key: toKey, content, metadata: kept })
    return store.getMetadata(to, toKey)
  }
}

async function uploadsIn(store: Store, bucket: string): Promise<readonly Upload[]> {
  const folder = store.getResourcePath(bucket, undefined, 'uploads')
  const ids = await readdir(folder).catch(() => [])
  const all = ids.map(async id => ({
    id,
    key: await readFile(join(folder, id, 'key'), 'utf8'),
    initiated: (await stat(join(folder, id, 'key'))).mtime,
  }))
  // An upload may be completed meanwhile.
  const found = (await Promise.allSettled(all)).flatMap(one =>
    one.status === 'fulfilled' ? [one.value] : [],
  )
  return found.toSorted((a, b) => (`${a.key} ${a.id}` < `${b.key} ${b.id}` ? -1 : 1))
}

/**
 * Adds what s3rver lacks: the list of multipart uploads, aborting one, copies of parts, and a PUT on the
 * condition that there is no such object.
 */
const addMissing =
  (store: Store): Middleware =>
  async (context, next) => {
    const { method, path, query, headers } = context
    const [, bucket = '', key = ''] = /^\/([^/]+)\/?(.*)$/.exec(decodeURIComponent(path)) ?? []
    const answer = (body: string, status = 200) => {
      Object.assign(context, { status, type: 'application/xml', body: `<?xml version="1.0"?>\n${body}` })
    }
    const id = query.uploadId ?? ''
    const folder = join(store.getResourcePath(bucket, undefined, 'uploads'), id)
    const isThere = (file: string) =>
      stat(file).then(
        () => true,
        () => false,
      )
    if (method === 'GET' && key === '' && 'uploads' in query) {
      const all = (await uploadsIn(store, bucket)).filter(one => one.key.startsWith(query.prefix ?? ''))
      const uploads = all.map(
        one =>
          `<Upload><Key>${one.key}</Key><UploadId>${one.id}</UploadId><Initiated>${one.initiated.toISOString()}</Initiated></Upload>`,
      )
      answer(
        `<ListMultipartUploadsResult><Bucket>${bucket}</Bucket><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`,
      )
    } else if (id !== '' && !(await isThere(folder)))
      answer('<Error><Code>NoSuchUpload</Code><Message>There is no such upload.</Message></Error>', 404)
    else if (method === 'DELETE' && id !== '') {
      await rm(folder, { recursive: true, force: true })
      context.status = 204
    } else if (method === 'PUT' && id !== '' && headers['x-amz-copy-source'] !== undefined) {
      const [, from = '', source = ''] =
        /^\/?([^/]+)\/(.*)$/.exec(decodeURIComponent(headers['x-amz-copy-source'])) ?? []
      const [start = 0, end = Number.POSITIVE_INFINITY] = (headers['x-amz-copy-source-range'] ?? '')
        .replace('bytes=', '')
        .split('-')
        .filter(Boolean)
        .map(Number)
      const content = createReadStream(store.getResourcePath(from, source, 'object'), { start, end })
      const { md5 } = await store.putPart(bucket, id, query.partNumber ?? '', content)
      answer(`<CopyPartResult><ETag>"${md5}"</ETag></CopyPartResult>`)
    } else if (
      method === 'PUT' &&
      headers['if-none-match'] === '*' &&
      (await isThere(store.getResourcePath(bucket, key, 'object')))
    )
      answer('<Error><Code>PreconditionFailed</Code><Message>It is there.</Message></Error>', 412)
    else await next()
  }
