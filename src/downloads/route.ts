import type { FileHandle } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FileStore } from '../files/file-store.ts'
import { type Query, tokenParameter } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { sendHead, sendPieces } from '../http/send-pieces.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Acting, Authenticated, Caller } from '../model/caller.ts'
import type { Bitstream } from '../model/items.ts'
import { admits, today } from '../model/readers.ts'
import { mayRead } from '../model/viewer.ts'
import type { Repository } from '../storage/repository.ts'
import { type Body, partsOf, wholeOf } from './body.ts'
import { precondition, rangeCounts } from './preconditions.ts'
import { presentation } from './presentation.ts'
import { type ByteRange, readRanges } from './ranges.ts'
import { createTransfers } from './transfers.ts'

interface Parts {
  readonly repository: Repository
  readonly files: FileStore
  readonly leases: Leases
  /** Writes down that the caller opened a bitstream (B4). */
  readonly noteDownload: (caller: Caller, request: FastifyRequest, bitstream: string) => Promise<void>
}

/** Cookies that go on opening a bitstream (F3). */
export interface Leases {
  grant(
    caller: Authenticated | Acting,
    bitstream: Bitstream,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void>
  holder(bitstream: Bitstream, request: FastifyRequest): Promise<Authenticated | Acting | undefined>
}

/** A client that has taken nothing for so long, in ms, is cut off; it may come back for the rest. */
const patience = 120_000

const outOfDescriptors: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])

interface Sending {
  readonly bitstream: Bitstream
  readonly caller: Caller
  readonly isNew: boolean
  readonly wanted: readonly ByteRange[] | 'whole'
  readonly headers: Readonly<Record<string, string>>
}

const anybody = { kind: 'reader', eperson: null, groups: new Set<string>() } as const

/**
 * `GET|HEAD /api/core/bitstreams/{uuid}/content` (contract section 7). Who may read it is decided when a request begins;
 * what has begun goes on, at the client's pace.
 */
export function contentRoutes(
  app: FastifyInstance,
  { repository, files, leases, noteDownload }: Parts,
): void {
  const url = '/core/bitstreams/:uuid/content'
  const transfers = createTransfers()

  /** @returns who opens it, and whether that is the first time @throws Problem for who may not */
  async function admit(request: FastifyRequest, bitstream: Bitstream) {
    const { caller } = request
    const { readers } = bitstream
    const byToken = caller.kind !== 'anonymous'
    if (mayRead(caller, readers)) {
      if (!byToken) return { caller, isNew: false }
      const holder = await leases.holder(bitstream, request)
      return { caller, isNew: holder === undefined || !isSame(holder, caller) }
    }
    if (byToken) throw new Problem('access-denied', 'You may not read this bitstream.')
    const holder = await leases.holder(bitstream, request)
    if (holder && mayRead(holder, readers)) return { caller: holder, isNew: false }
    throw new Problem(
      'authentication-required',
      request.headers.authorization !== undefined || (request.query as Query).values.has(tokenParameter)
        ? 'The token that came along is not valid, or no longer: one in an address lives for two seconds.'
        : 'This bitstream is not open to everybody: send a token, or a short-lived one as ?authentication-token=.',
    )
  }

  /** @throws Error when the file is not what it was: a fault of the service */
  async function openFile({ sha256, size }: Bitstream): Promise<FileHandle> {
    const file = await files.open(sha256).catch(error => {
      if (!outOfDescriptors.has(error.code)) throw error
      throw new Problem('busy', 'Too many files are open; repeat in a moment.', {
        headers: { 'retry-after': '5' },
        cause: error,
      })
    })
    if (!file) throw new Error(`the content ${sha256} is missing; «carrel files verify» names all that are`)
    const found = await file.stat()
    if (found.size === size) return file
    await file.close()
    throw new Error(`the content ${sha256} has ${found.size} bytes instead of ${size}`)
  }

  async function answer(request: FastifyRequest, reply: FastifyReply, uuid: string): Promise<FastifyReply> {
    const known = readUuid(uuid)
    const bitstream = known && (await repository.bitstream(known))
    if (!bitstream) throw new Problem('not-found', 'There is no bitstream with this uuid.')
    const { caller, isNew } = await admit(request, bitstream)
    const etag = `"${bitstream.sha256}"`
    const isOpen = admits(bitstream.readers, anybody, today())
    const headers = {
      etag,
      'accept-ranges': 'bytes',
      // What is open to everybody a browser may keep, as long as it asks anew each time: that may change.
      ...(isOpen && caller.kind === 'anonymous' ? { 'cache-control': 'private, no-cache' } : {}),
      // Where the network alone opens it, a page of another site can't look through its visitor's eyes.
      ...(!isOpen && caller.kind === 'anonymous' ? { 'cross-origin-resource-policy': 'same-site' } : {}),
      ...(caller.kind === 'acting' ? { 'x-acting-as': caller.session.eperson.uuid } : {}),
    }
    const status = precondition(request.headers, etag)
    if (status === 304) return reply.headers(headers).code(304).send()
    if (status === 412)
      throw new Problem('precondition-failed', `The file is another one by now: its entity tag is ${etag}.`)
    const ranges = rangeCounts(request.headers, etag)
      ? readRanges(request.headers.range, bitstream.size)
      : 'whole'
    // Range means something for GET only (RFC 9110 §14.2).
    const wanted = request.method === 'GET' ? ranges : 'whole'
    if (wanted === 'none')
      throw new Problem('range-not-satisfiable', `The file has ${bitstream.size} bytes.`, {
        headers: { 'content-range': `bytes */${bitstream.size}`, etag },
      })

    return transfers.run(request.raw.socket, () =>
      send(request, reply, { bitstream, caller, isNew, wanted, headers }),
    )
  }

  async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    { bitstream, caller, isNew, wanted, headers }: Sending,
  ): Promise<FastifyReply> {
    const file = await openFile(bitstream)
    try {
      const described = presentation(bitstream)
      const { headers: ofBody, pieces }: Body =
        wanted === 'whole'
          ? wholeOf(file, bitstream.size)
          : partsOf(file, wanted, bitstream.size, described['content-type'] ?? '')
      if (request.method === 'GET' && isNew && caller.kind !== 'anonymous') {
        await noteDownload(caller, request, bitstream.uuid)
        await leases.grant(caller, bitstream, request, reply)
      }
      reply
        .code(wanted === 'whole' ? 200 : 206)
        .headers(headers)
        .headers(described)
        .headers(ofBody)
      if (request.method === 'HEAD') return sendHead(reply)
      return await sendPieces(reply, { before: '', between: '', after: '', pieces }, patience)
    } finally {
      await file.close()
    }
  }

  app.get<{ Params: { uuid: string } }>(url, { config: { takesBareToken: true } }, (request, reply) =>
    answer(request, reply, request.params.uuid),
  )
}

/** The same eperson, and the same who acts as it. */
function isSame(one: Authenticated | Acting, other: Authenticated | Acting): boolean {
  const actorOf = (caller: Authenticated | Acting) =>
    caller.kind === 'acting' ? caller.actor.eperson.uuid : null
  return one.session.eperson.uuid === other.session.eperson.uuid && actorOf(one) === actorOf(other)
}
