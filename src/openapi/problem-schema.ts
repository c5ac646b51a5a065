import { type ProblemCode, problems } from '../http/problems.ts'
import { count, named, oneOf, Type, text, uri } from '../http/schema.ts'

const codes = Object.keys(problems) as ProblemCode[]
const position = Type.Integer({ minimum: 0 })

/**
 * RFC 9457 with every member that a problem of this service may have (E1). Most problems have few of them.
 */
export const ProblemBody = named(
  'Problem',
  {
    type: Type.String({ format: 'uri', description: 'The address of the page about problems of this code.' }),
    title: text,
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    code: oneOf(...codes),
    detail: Type.String({ description: 'What was wrong, where, and what would be right.' }),
    message: Type.String({ description: 'The same as `detail`.' }),
    path: Type.String({ description: 'The path of the request; empty if it could not be read.' }),
    id: Type.Optional(
      Type.String({ format: 'uuid', description: 'Of a fault of the service: it is in its log, too.' }),
    ),
    parameter: Type.Optional(text),
    value: Type.Optional(text),
    position: Type.Optional(position),
    line: Type.Optional(count),
    column: Type.Optional(count),
    pointer: Type.Optional(Type.String({ description: 'RFC 6901: the place in the JSON.' })),
    operation: Type.Optional(Type.Integer({ minimum: 0, description: 'Of a patch, from 0.' })),
    member: Type.Optional(Type.String({ description: 'RFC 6901: the place in the body.' })),
    marker: Type.Optional(Type.String({ description: 'The line of the query, and a mark below the place.' })),
    found: Type.Optional(text),
    expected: Type.Optional(Type.Array(text)),
    form: Type.Optional(Type.String({ description: 'How it is written.' })),
    legal: Type.Optional(
      Type.Union([
        // The values of a query are JSON: true and false are no strings there.
        Type.Array(Type.Union([text, Type.Boolean()])),
        Type.Object(
          { least: Type.Optional(Type.Integer()), most: Type.Optional(Type.Integer()) },
          { additionalProperties: false },
        ),
      ]),
    ),
    most: Type.Optional(Type.Integer({ description: 'How many there may be.' })),
    nearest: Type.Optional(Type.String({ description: 'The legal value that is most like the given one.' })),
    process: Type.Optional(Type.Integer({ description: 'The process that is in the way.' })),
    error: Type.Optional(Type.String({ description: 'The same as `detail`, for clients of PuppetDB.' })),
    begin: Type.Optional(uri),
    back: Type.Optional(uri),
    home: Type.Optional(uri),
  },
  'RFC 9457. Which codes an operation answers is in its description.',
)

/** The schema of problems with only these codes. */
export const problemOf = (some: readonly ProblemCode[]) => ({
  allOf: [
    { $ref: '#/components/schemas/Problem' },
    { properties: { code: { enum: some }, status: { const: problems[some[0] ?? 'internal-error'].status } } },
  ],
})
