import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { BucketServer } from './bucket.ts'
import type { Fault, Lie, Said, Seen } from './faulty-line.ts'

/** What a bucket, or a cache or gateway in front of it, may answer or keep in place of what was asked. */

export const isContentRead = ({ method, path }: Seen) => method === 'GET' && /\/[0-9a-f]{64}\?/.test(path)
export const isCopy = ({ headers }: Seen) => headers['x-amz-copy-source'] !== undefined
/** True for a PUT of a whole object, and for the end of an upload in parts. */
export const isPut = (seen: Seen) => seen.method === 'PUT' && !/partNumber=/.test(seen.path) && !isCopy(seen)
export const isCompletion = ({ method, path }: Seen) => method === 'POST' && /uploadId=/.test(path)

const unchanged = (said: Said): Said => said

/** The whole object, with 200. @param breaksAfter number of bytes after which the answer breaks off */
export const ignoresRange = (breaksAfter?: number): Lie => ({
  asks: { range: undefined },
  says: said => ({ ...said, ...(breaksAfter === undefined ? {} : { breaksAfter }) }),
})
/** 206 with another range, which the answer names. */
export const shifts = (range: string): Lie => ({ asks: { range }, says: unchanged })
/** Changes headers of answers; undefined takes one out. */
export const withHeaders = (headers: Readonly<Record<string, string | undefined>>): Lie => ({
  says: said => {
    const all = Object.entries({ ...said.headers, ...headers }).filter(([, value]) => value !== undefined)
    return { ...said, headers: Object.fromEntries(all) }
  },
})
/** 206 that leaves the size of the object open, which is legal (RFC 9110 §14.4). */
export const withoutTotal: Lie = {
  says: said => ({
    ...said,
    headers: {
      ...said.headers,
      'content-range': `${said.headers['content-range']}`.replace(/\/\d+$/, '/*'),
    },
  }),
}
/** Something else with this status. @param length that of the body */
export const something = (status: number, length = 100): Fault => ({
  status,
  headers: { 'content-type': 'text/html', 'content-length': `${length}` },
  body: '<html>Welcome</html>'.padEnd(length),
})
/** Changes the body of an answer in XML. */
export const withBody = (change: (text: string) => string): Lie => ({
  says: ({ status, headers, body }) => {
    const changed = Buffer.from(change(body.toString()))
    return { status, headers: { ...headers, 'content-length': `${changed.length}` }, body: changed }
  },
})

/** Keeps something else than was sent or copied, and says that all is well. */
export const keeps = (bucket: BucketServer, change: (bytes: Buffer) => Buffer | undefined) => (seen: Seen) =>
  ({
    says: said => {
      const key = decodeURIComponent(new URL(seen.path, bucket.address).pathname)
        .split('/')
        .slice(2)
        .join('/')
      const file = bucket.fileOf(key)
      const changed = change(readFileSync(file))
      if (changed) writeFileSync(file, changed)
      else rmSync(file)
      return said
    },
  }) satisfies Lie

export const fewer = (bytes: Buffer) => bytes.subarray(0, bytes.length >> 4)
/** Changes one byte near the end. */
export const other = (bytes: Buffer) => {
  const changed = Buffer.from(bytes)
  const at = Math.max(0, bytes.length - 1_000)
  changed[at] = (changed[at] ?? 0) ^ 1
  return changed
}
export const nothing = () => undefined
