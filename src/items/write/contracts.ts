import type { Contracts } from '../../http/contract.ts'
import type { ProblemCode } from '../../http/problems.ts'
import { Bitstream, Bundle, Item, Site } from '../../http/resources/schemas.ts'
import { answer, json, nothing, orNull, parameter, patch, Type, text, uri } from '../../http/schema.ts'

export const tag = 'Items and files'
const refused = [
  'access-denied',
  'not-found',
  'change-refused',
  'precondition-failed',
  'files-full',
] as const satisfies readonly ProblemCode[]
const patched = [...refused, 'patch-refused'] as const
const match = { 'If-Match': parameter(text, 'The change is made only if it has this tag.') }
const address = { 'text/uri-list': uri }

const values = Type.Record(text, Type.Unknown())
const WantedItem = Type.Object(
  {
    metadata: Type.Optional(values),
    withdrawn: Type.Optional(Type.Boolean()),
    discoverable: Type.Optional(Type.Boolean()),
  },
  { $id: 'WantedItem', description: 'Other members of an item may be there, and make no difference.' },
)
const item = answer('The item.', json(Item), { ETag: text })
const renamed = { 'X-Name-Changed': Type.Optional(text) }
const file = answer('The description of the file.', json(Bitstream), renamed)

export const contracts = {
  addItem: {
    summary: 'Add an item',
    body: json(WantedItem),
    answers: { 201: answer('The item.', json(Item), { ETag: text, Location: uri }) },
    problems: [...refused, 'bad-parameter'],
  },
  changeItem: {
    summary: 'Change metadata and state of an item',
    headers: match,
    body: patch,
    answers: { 200: item },
    problems: patched,
  },
  putItem: {
    summary: 'Replace metadata and state of an item',
    headers: match,
    body: json(WantedItem),
    answers: { 200: item },
    problems: patched,
  },
  deleteItem: {
    summary: 'Delete an item with its files',
    headers: match,
    answers: { 204: nothing('It is deleted.') },
    problems: refused,
  },
  changeSite: {
    summary: 'Change metadata of the site, such as texts of DSpace’s interface',
    tag: 'For DSpace’s user interface',
    headers: match,
    body: patch,
    answers: { 200: answer('The site.', json(Site), { ETag: text }) },
    problems: ['access-denied', 'not-found', 'patch-refused', 'precondition-failed'],
  },
  addBundle: {
    summary: 'Add an empty bundle to an item',
    body: json(Type.Object({ name: text, metadata: Type.Optional(orNull(values)) })),
    answers: { 201: answer('The bundle.', json(Bundle), { Location: uri }) },
    problems: refused,
  },
  changeBundle: {
    summary: 'Move the files of a bundle',
    body: patch,
    answers: { 200: answer('The bundle.', json(Bundle)) },
    problems: patched,
  },
  deleteBundle: {
    summary: 'Delete a bundle with its files',
    answers: { 204: nothing('It is deleted.') },
    problems: refused,
  },
  addPrimaryBitstream: {
    summary: 'Say which file stands for a bundle',
    body: address,
    answers: { 201: answer('The bundle.', json(Bundle)) },
    problems: refused,
  },
  setPrimaryBitstream: {
    summary: 'Say that another file stands for a bundle',
    body: address,
    answers: { 200: answer('The bundle.', json(Bundle)) },
    problems: refused,
  },
  removePrimaryBitstream: {
    summary: 'Say that no file stands for a bundle',
    answers: { 204: nothing('None does.') },
    problems: refused,
  },
  addBitstream: {
    summary: 'Add a file to a bundle',
    query: { upload: parameter(text, 'A finished upload, instead of a file in the body.') },
    body: {
      'multipart/form-data': Type.Object({
        file: Type.Optional(Type.String({ contentMediaType: 'application/octet-stream' })),
        properties: Type.Optional(
          Type.String({
            description: 'JSON with `name` and `metadata`.',
            contentMediaType: 'application/json',
          }),
        ),
      }),
      'application/json': Type.Object({ name: Type.Optional(text), metadata: Type.Optional(values) }),
    },
    answers: {
      201: answer('The description of the file.', json(Bitstream), { Location: uri, ...renamed }),
    },
    problems: [...patched, 'bad-parameter', 'upload-in-use', 'files-unavailable'],
  },
  replaceContent: {
    summary: 'Replace the content of a file',
    query: {
      upload: parameter(text, 'A finished upload, instead of a file in the body.'),
      replaceName: parameter(Type.Boolean(), 'Whether the file takes the name of what was sent.'),
    },
    headers: { 'If-Match': parameter(text, 'The content must still have this tag.') },
    body: {
      'multipart/form-data': Type.Object({
        file: Type.Optional(Type.String({ contentMediaType: 'application/octet-stream' })),
      }),
    },
    answers: { 200: file },
    problems: [...patched, 'bad-parameter', 'upload-in-use', 'precondition-failed', 'files-unavailable'],
  },
  changeBitstream: {
    summary: 'Change the name or the description of a file',
    body: patch,
    answers: { 200: file },
    problems: patched,
  },
  setFormat: {
    summary: 'Change the format of a file',
    body: address,
    answers: { 200: file },
    problems: refused,
  },
  deleteBitstream: {
    summary: 'Delete a file',
    answers: { 204: nothing('It is deleted.') },
    problems: refused,
  },
  deleteBitstreams: {
    summary: 'Delete many files, all or none',
    body: patch,
    answers: { 204: nothing('They are deleted.') },
    problems: patched,
  },
} as const satisfies Contracts
