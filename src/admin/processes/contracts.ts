import type { Contracts } from '../../http/contract.ts'
import {
  answer,
  json,
  listOf,
  nothing,
  oneOf,
  pageOf,
  parameter,
  Type,
  text,
  uri,
  uuid,
} from '../../http/schema.ts'
import { Process, ProcessFileTypes, ProcessOutput, ProcessPage, Script, ScriptPage } from './schemas.ts'

export const tag = 'Processes'
const page = 'A page of at most 100.'
const sort = parameter(text, 'Such as `startTime,desc`.')
/** Problems of routes where epersons may see the processes that they began. */
const own = ['access-denied', 'not-found'] as const
const begun = answer('It is begun.', json(Process), { Location: uri })

export const contracts = {
  listProcesses: {
    summary: 'All processes',
    ...listOf(ProcessPage, { sort }, page),
  },
  searchProcesses: {
    summary: 'Processes by status, script and eperson',
    ...listOf(
      ProcessPage,
      {
        processStatus: parameter(oneOf('SCHEDULED', 'RUNNING', 'COMPLETED', 'FAILED')),
        scriptName: parameter(text),
        userId: parameter(uuid),
        sort,
      },
      page,
    ),
  },
  listOwnProcesses: {
    summary: 'The caller’s own processes',
    ...listOf(ProcessPage, { sort }, page),
  },
  showProcess: {
    summary: 'One process',
    answers: { 200: answer('The process.', json(Process)) },
    problems: own,
  },
  showOutput: {
    summary: 'The log of a process as a file',
    answers: { 200: answer('The file.', json(ProcessOutput)), 204: nothing('The log is empty.') },
    problems: own,
  },
  listFilesOfProcess: {
    summary: 'Files of a process: none',
    ...listOf(pageOf('bitstreams', Type.Never()), {}, 'An empty page.'),
    problems: own,
  },
  listFileTypesOfProcess: {
    summary: 'Kinds of files of a process: none',
    answers: {
      200: answer('None.', json(ProcessFileTypes)),
    },
    problems: own,
  },
  showLog: {
    summary: 'The log of a process',
    answers: { 200: answer('Its lines.', { 'text/plain': text }) },
    problems: own,
  },
  followProcess: {
    summary: 'A process as server-sent events',
    headers: { 'Last-Event-ID': parameter(text, 'The last line of the log that the client has.') },
    answers: {
      200: answer(
        '`log`, `progress`, and `end` at last.',
        { 'text/event-stream': text },
        {
          'X-Accel-Buffering': text,
        },
      ),
    },
    problems: own,
  },
  cancelProcess: {
    summary: 'Cancel a process',
    answers: { 202: answer('Its work stops where it can.', json(Process)) },
    problems: [...own, 'process-state'],
  },
  resumeProcess: {
    summary: 'Begin a process again that did not come to its end',
    answers: { 202: begun },
    problems: [...own, 'process-state', 'bad-parameter', 'upload-offset', 'entity-conflict'],
  },
  deleteProcess: {
    summary: 'Remove a process that has ended',
    answers: { 204: nothing('It is removed.') },
    problems: [...own, 'process-state'],
  },
  listScripts: {
    summary: 'Scripts that can be started by name',
    ...listOf(ScriptPage),
  },
  showScript: {
    summary: 'One of them',
    answers: { 200: answer('What it takes.', json(Script)) },
    problems: ['authentication-required', 'access-denied', 'not-found'],
  },
  beginScript: {
    summary: 'Begin a process by its name',
    body: Object.fromEntries(
      ['multipart/form-data', 'application/x-www-form-urlencoded'].map(type => [
        type,
        Type.Object({
          properties: Type.String({
            description: 'A JSON array such as `[{"name": "--keep", "value": "7"}]`.',
          }),
        }),
      ]),
    ),
    answers: { 202: begun },
    problems: ['not-found', 'change-refused'],
  },
} as const satisfies Contracts
