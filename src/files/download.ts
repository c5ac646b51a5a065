import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { openRightTo, reads } from '../http/access.ts'
import { turnOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { lookAgain } from '../http/guard.ts'
import { type Query, tokenParameter } from '../http/parameters.ts'
import { changed, precondition, rangeCounts } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import { sendHead, sendPieces } from '../http/send-pieces.ts'
import type { Awaitable } from '../lib/awaitable.ts'
import type { Counter } from '../lib/counter.ts'
import { readUuid } from '../lib/uuids.ts'
import { type Acting, type Authenticated, type Caller, mayRead } from '../model/caller.ts'
import type { Bitstream } from '../model/items.ts'
import type { Limits } from '../model/limits.ts'
import { admits, today } from '../model/readers.ts'
import type { FileStore } from './file-store.ts'
import type { HandOver } from './hand-over.ts'
import type { Opened } from './opened.ts'
import { presentation } from './presentation.ts'
import { type ByteRange, readRanges } from './ranges.ts'
import { type Body, createPieceReader, partialBody, wholeBody } from './read-pieces.ts'

const contract = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly repository: { bitstream(uuid: string): Awaitable<Bitstream | undefined> }
  readonly files: FileStore
  readonly leases: Leases
  readonly limits: Pick<Limits, 'transfers' | 'largePieces'>
  /** Lets a proxy or a bucket send files; undefined if Carrel does. */
  readonly handOver: HandOver | undefined
  /** Records in the audit trail that the caller opened a bitstream (B4). */
  readonly recordDownload: (caller: Caller, request: FastifyRequest, bitstream: string) => Promise<void>
}

/** Cookies that still open a bitstream after its token has expired (F3). */
interface Leases {
  grant(
    caller: Authenticated | Acting,
    bitstream: Bitstream,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void>
  holder(bitstream: Bitstream, request: FastifyRequest): Promise<Authenticated | Acting | undefined>
}

/** Time in ms after which a client that reads nothing is disconnected; it may resume the download. */
const stallTimeout = 120_000

interface Sending {
  readonly bitstream: Bitstream
  readonly caller: Caller
  readonly isNew: boolean
  readonly wanted: readonly ByteRange[] | 'whole'
  readonly headers: Readonly<Record<string, string>>
}

const anonymousViewer = { kind: 'reader', eperson: null, groups: new Set<string>() } as const

/**
 * `GET|HEAD /api/core/bitstreams/{uuid}/content` (contract section 10). Access is checked when a request
 * begins. A transfer that has begun continues, at the client's pace.
 */
export function contentRoutes(app: FastifyInstance, parts: Parts): void {
  const { repository, files, leases, limits, handOver } = parts
  const url = '/core/bitstreams/:uuid/content'
  const transfers = createTransfers(limits.transfers)

  async function answer(request: FastifyRequest, reply: FastifyReply, uuid: string): Promise<FastifyReply> {
    const known = readUuid(uuid)
    const bitstream = known && (await repository.bitstream(known))
    if (!bitstream) throw new Problem('not-found', 'There is no bitstream with this UUID.')
    const { caller, isNew } = await admit(leases, request, bitstream)
    const etag = `"${bitstream.sha256}"`
    const headers = { etag, 'accept-ranges': 'bytes', ...headersOf(bitstream, caller) }
    const status = precondition(request.headers, etag)
    if (status === 304) return reply.headers(headers).code(304).send()
    if (status === 412) throw changed('file', etag)
    const ranges = rangeCounts(request.headers, etag)
      ? readRanges(request.headers.range, bitstream.size)
      : 'whole'
    // Range is defined for GET only (RFC 9110 §14.2).
    const wanted = request.method === 'GET' ? ranges : 'whole'
    if (wanted === 'none')
      throw new Problem('range-not-satisfiable', `The file has ${bitstream.size} bytes.`, {
        headers: { 'content-range': `bytes */${bitstream.size}`, etag },
      })

    const sending = { bitstream, caller, isNew, wanted, headers }
    const handed = await handOver?.(request.raw, sending)
    if (handed) {
      await begin(parts, request, reply, sending)
      return reply.code(handed.status).headers(handed.headers).send('')
    }
    if (!(await turnOf(reply))) return transfers.run(() => send(request, reply, sending))
    // Other responses of the connection came first, at the client's pace, and access may have been taken away
    // meanwhile.
    await lookAgain(request, reply)
    return transfers.run(async () =>
      send(request, reply, { ...sending, ...(await admit(leases, request, bitstream)) }),
    )
  }

  async function send(request: FastifyRequest, reply: FastifyReply, sending: Sending): Promise<FastifyReply> {
    const { bitstream, wanted, headers } = sending
    const first = wanted === 'whole' ? { start: 0, end: bitstream.size - 1 } : wanted[0]
    const file = await openFile(files, bitstream, request.method === 'HEAD' ? undefined : first)
    const reader = createPieceReader(file, limits.largePieces)
    try {
      const described = presentation(bitstream)
      const { headers: ofBody, pieces }: Body =
        wanted === 'whole'
          ? wholeBody(reader, bitstream.size)
          : partialBody(reader, wanted, bitstream.size, described['content-type'] ?? '')
      await begin(parts, request, reply, sending)
      reply
        .code(wanted === 'whole' ? 200 : 206)
        .headers(headers)
        .headers(described)
        .headers(ofBody)
      if (request.method === 'HEAD') return sendHead(reply)
      return await sendPieces(
        reply,
        { before: '', between: '', after: '', pieces, release: reader.release },
        { idle: stallTimeout },
      )
    } finally {
      reader.close()
      await file.close()
    }
  }

  routesOf(app).get<{ Params: { uuid: string } }>(
    url,
    {
      config: {
        takesBareToken: true,
        ...contract('showContent', reads(openRightTo('read the file'), 'items')).config,
      },
    },
    (request, reply) => answer(request, reply, request.params.uuid),
  )
}

/** @returns the caller, and `isNew` for a new download @throws Problem if access is denied */
async function admit(leases: Parts['leases'], request: FastifyRequest, bitstream: Bitstream) {
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
      ? 'The token is invalid or has expired. A short-lived token in a URL is valid for two seconds.'
      : 'This bitstream is not public. Send a token, or a short-lived one as ?authentication-token=.',
  )
}

/**
 * @throws Error if the file is missing, or has another size in a folder, which is a fault of the service
 * @throws WrongAnswer if a bucket has it with another size
 */
async function openFile(
  files: Parts['files'],
  { sha256, size }: Bitstream,
  first: ByteRange | undefined,
): Promise<Opened> {
  const file = await files.open(sha256, first, size)
  if (!file) throw new Error(`the content ${sha256} is missing; \`carrel files verify\` lists all that are`)
  if (file.size === size) return file
  await file.close()
  throw new Error(`the content ${sha256} has ${file.size} bytes instead of ${size}`)
}

/** The headers that depend on who may read a file. */
function headersOf(bitstream: Bitstream, caller: Caller) {
  const isPublic = admits(bitstream.readers, anonymousViewer, today())
  return {
    // A browser may store a public file, but must revalidate it each time: access may change.
    ...(isPublic && caller.kind === 'anonymous' ? { 'cache-control': 'private, no-cache' } : {}),
    // If only the client's network grants access, pages of other sites must not read it through a visitor's browser.
    ...(!isPublic && caller.kind === 'anonymous' ? { 'cross-origin-resource-policy': 'same-site' } : {}),
    ...(caller.kind === 'acting' ? { 'x-acting-as': caller.session.eperson.uuid } : {}),
  }
}

/** Records a new download and grants its lease, before the first byte is sent. */
async function begin(
  { leases, recordDownload }: Pick<Parts, 'leases' | 'recordDownload'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { bitstream, caller, isNew }: Sending,
): Promise<void> {
  if (request.method !== 'GET' || !isNew || caller.kind === 'anonymous') return
  await recordDownload(caller, request, bitstream.uuid)
  // A program sends its access token again; a lease would outlive it.
  if (!caller.grant) await leases.grant(caller, bitstream, request, reply)
}

/** True if the eperson is the same, and so is the actor. */
function isSame(one: Authenticated | Acting, other: Authenticated | Acting): boolean {
  const actorOf = (caller: Authenticated | Acting) =>
    caller.kind === 'acting' ? caller.actor.eperson.uuid : null
  return one.session.eperson.uuid === other.session.eperson.uuid && actorOf(one) === actorOf(other)
}

/** Maximum number of transfers per node. Each takes a file descriptor, and its client's connection another. */
const maxTransfers = 2_000

/** Limits transfers. @param running counts the transfers of the whole service */
export function createTransfers(running: Counter) {
  return {
    /** @throws Problem 503 if there are too many */
    run: async <T>(transfer: () => Promise<T>): Promise<T> => {
      if (!running.add(maxTransfers))
        throw new Problem('busy', `${maxTransfers} files are being sent. Retry in a moment.`, {
          headers: { 'retry-after': '5' },
        })
      try {
        return await transfer()
      } finally {
        running.remove()
      }
    },
  }
}
