import type { Contracts } from '../http/contract.ts'
import { answer, json, nothing, parameter, Type, text } from '../http/schema.ts'

const Document = Type.Object({
  openapi: text,
  info: Type.Object({}),
  paths: Type.Object({}),
  components: Type.Object({}),
})

export const tag = 'Start'

export const contracts = {
  showOpenApi: {
    summary: 'This document',
    description: 'With the entities that the caller may read, and their fields.',
    headers: { 'If-None-Match': parameter(text) },
    answers: {
      200: answer('OpenAPI 3.1.', json(Document), { ETag: text, 'Content-Encoding': Type.Optional(text) }),
      304: nothing('It has not changed.', { ETag: text }),
    },
  },
  showReference: {
    summary: 'This document as a page',
    answers: { 200: answer('The page.', { 'text/html': text }) },
  },
  showReferenceFile: {
    summary: 'A file of that page',
    headers: { 'If-None-Match': parameter(text) },
    answers: {
      200: answer(
        'A script or a style sheet.',
        { 'text/javascript': text, 'text/css': text },
        { ETag: text },
      ),
      304: nothing('It has not changed.', { ETag: text }),
    },
    problems: ['not-found'],
  },
} as const satisfies Contracts
