import { resolve } from 'node:path'
import { OperatorError } from '../lib/errors.ts'

/** The place of the contents of bitstreams, which nodes of one service share. */
export type FilesPlace = Readonly<{ kind: 'folder'; folder: string }> | BucketPlace

export type BucketPlace = Readonly<{
  kind: 'bucket'
  bucket: string
  /** Beginning of all keys: '' or one that ends with a slash. */
  prefix: string
  /** Address of the server; null: that of Amazon. */
  endpoint: string | null
  /** null: as the environment says. */
  region: string | null
  /** True if the bucket is a part of the path, and not of the host. */
  pathStyle: boolean
}>

/** Maximum size of a file in a bucket in bytes, 50,000 MB: S3 takes 10,000 parts, which are of 5 MiB here. */
export const maxBucketFile = 50_000 * 1024 * 1024

/** The address of a bucket without its prefix, as operators write it. */
export const placeText = (place: FilesPlace): string =>
  place.kind === 'folder' ? place.folder : `s3://${place.bucket}/${place.prefix}`.replace(/\/$/, '')

const address = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.-]+)*)\/?$/

/** True for the path of a folder: a text that begins like an address (`s3:`, `gs://`, `file:`) was meant as one. */
export const isFolder = (text: string): boolean => text.trim() !== '' && !/^\s*[a-z][a-z0-9+.-]*:/i.test(text)

/** True for a folder, and for a bucket whose address is well-formed. */
export const isFilesPlace = (text: string): boolean => isFolder(text) || address.test(text)

/** Says what a place may be, in messages about one that is neither. */
export const placesTaken =
  'a folder (./a:b if its name has a colon), or a bucket as s3://bucket/prefix, in small letters'

/** The server of all buckets. */
export type BucketServer = Pick<BucketPlace, 'endpoint' | 'region'> & { readonly pathStyle: boolean | null }

/** @param text a folder, or s3://bucket/prefix @param server where a bucket is */
export function filesPlace(text: string, server: BucketServer): FilesPlace {
  const [, bucket, prefix = ''] = address.exec(text) ?? []
  if (bucket === undefined) return { kind: 'folder', folder: resolve(text) }
  const { endpoint, pathStyle, region } = server
  return {
    kind: 'bucket',
    bucket,
    endpoint,
    region,
    prefix: prefix === '' ? '' : `${prefix.slice(1)}/`,
    pathStyle: pathStyle ?? endpoint !== null,
  }
}

/** @throws OperatorError for a bucket */
export function folderOf(place: FilesPlace): string {
  if (place.kind === 'folder') return place.folder
  throw new OperatorError(`this needs files in a folder, and they are in ${placeText(place)}`)
}
