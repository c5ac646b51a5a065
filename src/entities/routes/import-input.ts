import { closeSync, openSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { badParameter } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { requireCaller } from '../../http/require-caller.ts'
import type { Format } from '../../import/source.ts'
import { nameOrNull } from '../../lib/file-name.ts'
import type { Uploads } from '../../model/uploads.ts'
import type { ImportQuery } from './import-query.ts'
import { type ReceiveParts, receive } from './receive.ts'

/** The file of an import: the body of the request, or a finished upload. */
export interface Input {
  /** The name in messages; its ending tells the format if nothing else does. */
  readonly name: string
  readonly format: Format | null
  /** Opens the file, which may take long: it may be copied to this node first. */
  descriptor(): Promise<number>
  readonly bytes: number
  /** @param used true if the records were imported */
  close(used: boolean): Promise<void>
}

/** Media types of records. null: the first character tells the format. */
const mediaTypes: Readonly<Record<string, Format | null>> = {
  'text/csv': 'csv',
  'application/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/json': null,
  'application/gzip': null,
  'application/x-gzip': null,
  'application/octet-stream': null,
}

/** Reads the format from the media type. @throws Problem 415 for a body of another type */
function formatOf({ headers }: FastifyRequest): Format | null {
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  const encoding = headers['content-encoding']?.trim().toLowerCase()
  // Records compressed with gzip are recognized by their first bytes.
  if (encoding !== undefined && encoding !== 'gzip' && encoding !== 'identity')
    throw new Problem('unsupported-media-type', 'Records may be packed with gzip, and in no other way.', {
      members: { legal: ['gzip', 'identity'] },
    })
  if (type === undefined) return null
  const format = Object.hasOwn(mediaTypes, type) ? mediaTypes[type] : undefined
  if (format !== undefined) return format
  const legal = Object.keys(mediaTypes)
  throw new Problem(
    'unsupported-media-type',
    `Send the records themselves as the body, as one of ${legal.join(', ')}.`,
    { members: { legal } },
  )
}

/**
 * Opens the file to import.
 * @throws Problem 415, 413, 408; 400 for an upload that isn't there
 */
export async function inputOf(
  request: FastifyRequest,
  { upload, format }: Pick<ImportQuery, 'upload' | 'format'>,
  uploads: Uploads | undefined,
  parts: ReceiveParts,
): Promise<Input> {
  if (upload !== null) return inputOfUpload(request, upload, format, uploads)
  const told = formatOf(request)
  if (request.body === undefined)
    throw new Problem(
      'bad-request',
      'There are no records: send them as the body, or name an upload with the parameter upload.',
    )
  const received = await receive(request, request.body as IncomingMessage, parts)
  return {
    name: 'the body',
    format: format ?? told,
    descriptor: async () => received.descriptor,
    bytes: received.bytes,
    close: async () => received.close(),
  }
}

async function inputOfUpload(
  request: FastifyRequest,
  id: string,
  format: Format | null,
  uploads: Uploads | undefined,
): Promise<Input> {
  const { headers } = request
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
    throw new Problem('bad-request', 'With the parameter upload, the request must have no body.')
  const { uuid } = requireCaller(request.caller).session.eperson
  const input = await takeUpload(uploads, id, uuid, format)
  if (!input)
    throw badParameter('upload', id, 'You have no finished upload of this id here, or it is in use.')
  return input
}

/** @returns undefined if the eperson has no finished upload with this id, or the upload is in use */
export async function takeUpload(
  uploads: Uploads | undefined,
  id: string,
  eperson: string,
  format: Format | null,
): Promise<Input | undefined> {
  const upload = await uploads?.take(id, eperson)
  if (!upload) return undefined
  let descriptor: number | undefined
  return {
    name: nameOrNull(upload.name) ?? 'the upload',
    format,
    descriptor: async () => {
      descriptor ??= openSync(await upload.path(), 'r')
      return descriptor
    },
    bytes: upload.size,
    close: async used => {
      if (descriptor !== undefined) closeSync(descriptor)
      await upload.release(used)
    },
  }
}
