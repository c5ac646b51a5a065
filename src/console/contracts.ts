import { Root } from '../dspace/system-contracts.ts'
import type { Contracts } from '../http/contract.ts'
import { answer, nothing, parameter, Type, text } from '../http/schema.ts'

const page = { 'text/html': text }
const conditions = { 'If-None-Match': parameter(text) }
const tagged = { ETag: text, 'Cross-Origin-Opener-Policy': text }

const optional = { ETag: Type.Optional(text), 'Cross-Origin-Opener-Policy': Type.Optional(text) }

export const tag = 'Start'

export const contracts = {
  showConsole: {
    summary: 'The console, or the links of the API',
    description:
      'A browser gets the console; a program that names no HTML in `Accept` gets what `GET /api` answers.',
    headers: conditions,
    answers: {
      200: answer('The page, or the links.', { 'application/json': Root, ...page }, optional),
      304: nothing('The page has not changed.', tagged),
    },
    problems: ['not-found'],
  },
  showConsolePage: (operationId: string) => ({
    operationId,
    summary: 'A page of the console',
    description: 'Each is the same document.',
    headers: conditions,
    answers: { 200: answer('The page.', page, tagged), 304: nothing('It has not changed.', tagged) },
    problems: ['not-found'],
  }),
  sendConsoleLogo: {
    summary: 'The logo of the repository',
    description: 'The file of `CARREL_LOGO`, which can run nothing.',
    headers: conditions,
    answers: {
      200: answer(
        'The picture.',
        { 'image/png': text, 'image/jpeg': text, 'image/webp': text, 'image/svg+xml': text },
        { ETag: text },
      ),
      304: nothing('It has not changed.', { ETag: text }),
    },
    problems: ['not-found'],
  },
  sendConsoleAsset: {
    summary: 'Files of the console',
    answers: {
      200: answer(
        'The file.',
        {
          'text/javascript': text,
          'text/css': text,
          'image/svg+xml': text,
          'application/wasm': text,
        },
        { 'Content-Encoding': Type.Optional(text) },
      ),
    },
    problems: ['not-found'],
  },
  sendClientModule: {
    summary: 'Modules of the client, for pages without a build',
    description:
      '`index.js` is what pages import first; others are `downloads.js`, `uploads.js` and `processes.js`.',
    answers: {
      200: answer(
        'The module.',
        { 'text/javascript': text },
        { 'Content-Encoding': Type.Optional(text), 'Cross-Origin-Resource-Policy': text },
      ),
    },
    problems: ['not-found'],
  },
} as const satisfies Contracts
