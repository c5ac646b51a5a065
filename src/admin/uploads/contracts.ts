import type { Contracts } from '../../http/contract.ts'
import type { ProblemCode } from '../../http/problems.ts'
import {
  always,
  answer,
  count,
  json,
  links,
  named,
  nothing,
  orNull,
  pageOf,
  paging,
  parameter,
  Type,
  text,
  time,
  uri,
} from '../../http/schema.ts'
import { Process } from '../processes/schemas.ts'

export const tag = 'Uploads'

const Upload = named('Upload', {
  id: text,
  name: orNull(text),
  size: count,
  offset: count,
  begun: time,
  expires: time,
  type: always('upload'),
  _links: links('self'),
})

const resumable = parameter(Type.String({ const: '1.0.0' }), 'The version of tus.', { required: true })
const version = { 'Tus-Resumable': text }
const moved = { ...version, 'Upload-Offset': count, 'Upload-Expires': Type.Optional(text) }
const piece = {
  'application/offset+octet-stream': Type.String({ contentMediaType: 'application/octet-stream' }),
}
const refused = ['access-denied', 'tus-version', 'not-found'] as const satisfies readonly ProblemCode[]

export const contracts = {
  describeUploads: {
    summary: 'Version and extensions of tus',
    answers: {
      204: nothing('The extensions, and the maximum.', {
        ...version,
        'Tus-Version': text,
        'Tus-Extension': text,
        'Tus-Max-Size': count,
      }),
    },
  },
  listUploads: {
    summary: 'The caller’s uploads',
    query: paging,
    answers: { 200: answer('A page.', json(pageOf('uploads', Upload, 'UploadPage')), version) },
  },
  beginUpload: {
    summary: 'Begin an upload',
    description: 'tus 1.0, with the extensions that OPTIONS tells.',
    headers: {
      'Tus-Resumable': resumable,
      'Upload-Length': parameter(count, 'Bytes.', { required: true }),
      'Upload-Metadata': parameter(text, '`filename` in base64.'),
    },
    body: piece,
    answers: {
      201: nothing('Where pieces are sent to.', {
        ...version,
        Location: uri,
        'Upload-Offset': Type.Optional(count),
        'Upload-Expires': Type.Optional(text),
      }),
    },
    problems: [...refused, 'no-room', 'upload-offset', 'upload-in-use'],
  },
  showUpload: {
    summary: 'Progress of an upload',
    headers: { 'Tus-Resumable': resumable },
    answers: {
      200: nothing('In the headers.', {
        ...moved,
        'Upload-Length': count,
        'Upload-Metadata': Type.Optional(text),
      }),
    },
    problems: [...refused, 'short-lived-token-refused', 'upload-in-use'],
  },
  sendPiece: {
    summary: 'Send a piece of an upload',
    headers: {
      'Tus-Resumable': resumable,
      'Upload-Offset': parameter(count, 'How many bytes there are already.', { required: true }),
    },
    body: piece,
    answers: { 204: nothing('How far it got now.', moved) },
    problems: [...refused, 'upload-offset', 'upload-in-use', 'no-room'],
  },
  removeUpload: {
    summary: 'Remove an upload',
    headers: { 'Tus-Resumable': resumable },
    answers: { 204: nothing('It is removed.', version) },
    problems: [...refused, 'upload-in-use'],
  },
  ingest: {
    summary: 'Ingest an archive of items',
    query: {
      upload: parameter(text, 'A finished upload, instead of a body.'),
      read: parameter(text, 'Who may read the items.'),
      from: parameter(text, 'The first day of `read`.'),
      until: parameter(text, 'The last day of `read`.'),
      addOnly: parameter(Type.Boolean(), 'Change no item that is there.'),
      dryRun: parameter(Type.Boolean(), 'Only say what would happen.'),
      name: parameter(
        text,
        'What the source is called: the identifiers of items without a handle begin with it, and items that are there by these identifiers are changed. Without it, the name is that of the folder in the archive, or of the upload, or `upload`, and no item that is there is changed.',
      ),
    },
    body: Object.fromEntries(
      ['application/zip', 'application/gzip', 'application/x-tar', 'application/octet-stream'].map(type => [
        type,
        Type.String({ contentMediaType: type }),
      ]),
    ),
    answers: { 202: answer('A process does it.', json(Process), { Location: uri }) },
    problems: ['bad-parameter', 'not-found', 'upload-offset', 'upload-in-use', 'no-room'],
  },
} as const satisfies Contracts
