import {
  always,
  count,
  embeds,
  Json,
  links,
  named,
  oneOf,
  orNull,
  pageOf,
  Type,
  text,
  time,
  uuid,
} from '../../http/schema.ts'

/** Long work that is done in the background. */
export const Process = named('Process', {
  processId: text,
  userId: orNull(uuid),
  creationTime: time,
  startTime: orNull(time),
  endTime: orNull(time),
  scriptName: text,
  processStatus: oneOf('SCHEDULED', 'RUNNING', 'COMPLETED', 'FAILED'),
  parameters: Type.Array(named('ProcessParameter', { name: text, value: text })),
  state: oneOf('scheduled', 'running', 'completed', 'failed', 'cancelled', 'interrupted'),
  progress: orNull(
    named('Progress', {
      done: Type.Number(),
      total: Type.Optional(Type.Number()),
      unit: text,
    }),
  ),
  result: Type.Union([Type.Record(Type.String(), Json), Type.Null()], {
    description: 'What it made, once it is there.',
  }),
  fault: orNull(text),
  type: always('process'),
  _links: links('self', 'script', 'output', 'files', 'filetypes', 'log', 'events'),
  _embedded: embeds('script', 'output', 'files', 'filetypes'),
})
export const ProcessPage = pageOf('processes', Process, 'ProcessPage')

export const Script = named('Script', {
  id: text,
  name: text,
  description: text,
  parameters: Type.Array(
    named('ScriptParameter', {
      name: text,
      nameLong: text,
      description: text,
      type: oneOf('integer', 'string', 'boolean'),
      mandatory: always(false),
    }),
  ),
  type: always('script'),
  _links: links('self'),
})
export const ScriptPage = pageOf('scripts', Script, 'ScriptPage')

export const ProcessFileTypes = named('ProcessFileTypes', {
  id: always('filetypes'),
  values: Type.Array(Type.Never(), { maxItems: 0 }),
  type: always('filetypes'),
  _links: links('self'),
})

/** The log as DSpace's interface expects it: a file whose content is the text. */
export const ProcessOutput = named('ProcessOutput', {
  id: uuid,
  uuid,
  name: text,
  handle: Type.Null(),
  metadata: Type.Record(Type.String(), Type.Array(Type.Record(Type.String(), Type.Unknown()))),
  bundleName: Type.Null(),
  sizeBytes: count,
  type: always('bitstream'),
  _links: links('content', 'self'),
})
