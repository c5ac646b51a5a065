import type { Contracts } from '../http/contract.ts'
import { answer, count, nothing, parameter, Type, text, uri } from '../http/schema.ts'

const described = {
  ETag: text,
  'Accept-Ranges': Type.Optional(text),
  'Content-Disposition': text,
  'Cross-Origin-Resource-Policy': Type.Optional(text),
  'Set-Cookie': Type.Optional(Type.String({ description: 'Lets a broken transfer go on without a token.' })),
}
const bytes = { '*/*': Type.String({ contentMediaType: 'application/octet-stream' }) }

export const tag = 'Items and files'

export const contracts = {
  showContent: {
    summary: 'The content of a file',
    headers: {
      Range: parameter(text),
      'If-Range': parameter(text),
      'If-Match': parameter(text),
      'If-None-Match': parameter(text),
    },
    answers: {
      200: answer('The whole file, or what tells a proxy to send it.', bytes, {
        ...described,
        'X-Accel-Redirect': Type.Optional(text),
        'X-Sendfile': Type.Optional(text),
      }),
      206: answer('The ranges.', bytes, {
        ...described,
        'Content-Range': Type.Optional(text),
        'Content-Length': count,
      }),
      302: nothing('The address of the file in a bucket, for a minute.', {
        Location: uri,
        'Cross-Origin-Resource-Policy': Type.Optional(text),
        'Set-Cookie': described['Set-Cookie'],
      }),
      304: nothing('It has not changed.', {
        ETag: text,
        'Accept-Ranges': text,
        'Cross-Origin-Resource-Policy': Type.Optional(text),
      }),
    },
    problems: [
      'authentication-required',
      'access-denied',
      'not-found',
      'precondition-failed',
      'range-not-satisfiable',
      'files-unavailable',
    ],
  },
} as const satisfies Contracts
